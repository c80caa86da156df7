"""The paths of the service: a row for each method of each, with its description."""

from functools import partial

from toolscout.contract.answers import (
    BatchAnswer,
    FilterAnswer,
    GatewayAnswer,
    HotAnswer,
    ResolveAnswer,
    SearchAnswer,
    StatsAnswer,
)
from toolscout.contract.learning import (
    ChainReport,
    FeedbackAnswer,
    FeedbackBatch,
    FeedbackEvent,
    InsightAnswer,
    LearningAnswer,
)
from toolscout.contract.requests import (
    BatchRequest,
    FilterRequest,
    HotRequest,
    ResolveRequest,
    SearchRequest,
)
from toolscout.server.calls.batch import filter_tools, resolve, search_batch
from toolscout.server.calls.feedback import (
    feedback,
    forget,
    report_chain,
    show_insight,
    show_learning,
)
from toolscout.server.calls.hot import hot_tools
from toolscout.server.calls.probes import show_health, show_metrics, show_readiness, show_stats
from toolscout.server.calls.search import search
from toolscout.server.routes.catalogs import CATALOG_ROUTES
from toolscout.server.routes.route import Parameter, Route

_BELOW = "/v1/tool-discovery/"
_WITH_LEARNING = "Answers 404 with `learning = off`."
_TOOLS = [
    {"name": "search_code", "description": "Search the code of a repository"},
    {"name": "read_file", "description": "Read a file from disk"},
]

_selection = partial(Route, method="POST", tag="selection")
_learning = partial(Route, tag="learning")
_probe = partial(Route, method="GET", tag="operation", is_open=True)


def _object(description: str) -> dict[str, object]:
    content = {"application/json": {"schema": {"type": "object"}}}
    return {"description": description, "content": content}


_CALL_ROUTES = (
    _selection(
        path=_BELOW + "search",
        handler=search,
        call="search",
        summary="Select tools for a query",
        description="Names of at most `top_k` of the tools, most relevant first.",
        takes=(SearchRequest,),
        example={"pattern": "find code", "top_k": 1, "tools": _TOOLS},
        gives=(GatewayAnswer, SearchAnswer),
    ),
    _selection(
        path="/api/compress/tool-discovery/",
        handler=search,
        call="search",
        operation="compress",
        summary="Select tools for a query, newer contract",
        description="The same selection for callers of the newer contract.",
        takes=(SearchRequest,),
        example={"query": "find code", "max_tools": 1, "tools": _TOOLS},
        gives=(GatewayAnswer,),
    ),
    _selection(
        path=_BELOW + "search:batch",
        handler=search_batch,
        call="batch",
        summary="Select tools for several queries",
        description="One result per pattern, in order; the latency budget is for all of them.",
        takes=(BatchRequest,),
        example={
            "patterns": ["find code", {"messages": [{"role": "user", "content": "open a file"}]}],
            "top_k": 1,
            "tools": _TOOLS,
        },
        gives=(BatchAnswer,),
    ),
    _selection(
        path=_BELOW + "resolve",
        handler=resolve,
        call="resolve",
        summary="Find tools by written names",
        description="Each name to the letter or in another spelling, else what it may have meant.",
        takes=(ResolveRequest,),
        example={"names": ["searchCode", "read_fil"], "tools": _TOOLS},
        gives=(ResolveAnswer,),
    ),
    _selection(
        path=_BELOW + "filter",
        handler=filter_tools,
        call="filter",
        summary="Split tools by relevance",
        description="Names to keep in front of a model and names to defer, by shared words alone.",
        takes=(FilterRequest,),
        example={"query": "find code", "min_tools": 1, "max_tools": 1, "tools": _TOOLS},
        gives=(FilterAnswer,),
    ),
    _selection(
        path=_BELOW + "hot",
        handler=hot_tools,
        call="hot",
        summary="Tools for an agent's next turn",
        description="A few tools whole, some in brief, within a budget of tokens.",
        takes=(HotRequest,),
        example={"message": "find code", "tier0": ["read_file"], "tools": _TOOLS},
        gives=(HotAnswer,),
    ),
    _learning(
        method="POST",
        path=_BELOW + "feedback",
        handler=feedback,
        scope="feedback",
        call="feedback",
        summary="Tell which tool worked",
        description=f"{_WITH_LEARNING} One event, or several as `events`.",
        takes=(FeedbackEvent, FeedbackBatch),
        example={"pattern": "find code", "tool": "search_code", "success": True},
        gives=(FeedbackAnswer,),
        statuses=(202,),
    ),
    _learning(
        method="POST",
        path=_BELOW + "chains",
        handler=report_chain,
        scope="feedback",
        call="chains",
        summary="Tell which tools worked one after the other",
        description=_WITH_LEARNING,
        takes=(ChainReport,),
        example={"intent": "fix a bug", "chain": ["search_code", "read_file"], "success": True},
        gives=(FeedbackAnswer,),
        statuses=(202,),
    ),
    _learning(
        method="GET",
        path=_BELOW + "insights",
        handler=show_insight,
        call="insights",
        summary="The chain of tools for a pattern",
        description=_WITH_LEARNING,
        gives=(InsightAnswer,),
        parameters=(
            Parameter("pattern", {"type": "string", "pattern": r"\S"}, "What is to be done", True),
        ),
    ),
    _learning(
        method="GET",
        path="/v1/stats",
        handler=show_stats,
        scope="admin",
        call="stats",
        summary="Figures of use",
        description="Of this process, since it started.",
        gives=(StatsAnswer,),
    ),
    _learning(
        method="GET",
        path="/v1/learning",
        handler=show_learning,
        scope="admin",
        call="learning",
        summary="What was learned",
        description=_WITH_LEARNING,
        gives=(LearningAnswer,),
    ),
    _learning(
        method="DELETE",
        path="/v1/learning",
        handler=forget,
        scope="admin",
        call="learning",
        operation="forget",
        summary="Forget what was learned",
        description=_WITH_LEARNING,
        statuses=(204,),
    ),
    _probe(
        path="/healthz",
        handler=show_health,
        call="healthz",
        summary="Alive",
        description="The process answers.",
        responses={"200": _object("The process answers.")},
    ),
    _probe(
        path="/readyz",
        handler=show_readiness,
        call="readyz",
        summary="Ready",
        description="Model loaded, self-test ranked, not draining.",
        responses={
            "200": _object("Model loaded, self-test ranked, not draining."),
            "503": _object("Not now"),
        },
    ),
    _probe(
        path="/metrics",
        handler=show_metrics,
        call="metrics",
        summary="Prometheus metrics",
        description="Needs a key only with `metrics_auth = on`.",
        responses={
            "200": {
                "description": "Exposition text",
                "content": {
                    "text/plain": {"schema": {"type": "string"}},
                    "application/openmetrics-text": {"schema": {"type": "string"}},
                },
            },
            "401": {"$ref": "#/components/responses/401"},
        },
    ),
)

ROUTES: tuple[Route, ...] = (*_CALL_ROUTES, *CATALOG_ROUTES)
