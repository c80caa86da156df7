"""What the OpenAPI document says of each path."""

from collections.abc import Iterable
from typing import Any

from toolscout.server.http.problems import CODES

REF = "#/components/schemas/{name}"
_CALL_ERRORS = tuple(code for code in CODES if code not in ("not_found", "method_not_allowed"))

_EXAMPLE_TOOLS = [
    {"name": "search_code", "description": "Search the code of a repository"},
    {"name": "read_file", "description": "Read a file from disk"},
]


def paths() -> dict[str, Any]:
    """Every path with its operations."""
    older = {"pattern": "find code", "top_k": 1, "tools": _EXAMPLE_TOOLS}
    newer = {"query": "find code", "max_tools": 1, "tools": _EXAMPLE_TOOLS}
    probe = {"security": [], "tags": ["operation"]}
    return {
        "/v1/tool-discovery/search": {
            "post": _post(
                "search",
                "Select tools for a query",
                "Names of at most `top_k` of the tools, most relevant first.",
                older,
                "SearchRequest",
                {"anyOf": [ref("GatewayAnswer"), ref("SearchAnswer")]},
            )
        },
        "/api/compress/tool-discovery/": {
            "post": _post(
                "compress",
                "Select tools for a query, newer contract",
                "The same selection for callers of the newer contract.",
                newer,
                "SearchRequest",
                ref("GatewayAnswer"),
            )
        },
        "/v1/tool-discovery/search:batch": {
            "post": _post(
                "batch",
                "Select tools for several queries",
                "One result per pattern, in order; the latency budget is for all of them.",
                {"patterns": ["find code", "open a file"], "top_k": 1, "tools": _EXAMPLE_TOOLS},
                "BatchRequest",
                ref("BatchAnswer"),
            )
        },
        "/v1/tool-discovery/resolve": {
            "post": _post(
                "resolve",
                "Find tools by written names",
                "Each name to the letter or in another spelling, else what it may have meant.",
                {"names": ["searchCode", "read_fil"], "tools": _EXAMPLE_TOOLS},
                "ResolveRequest",
                ref("ResolveAnswer"),
            )
        },
        "/v1/tool-discovery/filter": {
            "post": _post(
                "filter",
                "Split tools by relevance",
                "Names to keep in front of a model and names to defer, by shared words alone.",
                {"query": "find code", "min_tools": 1, "max_tools": 1, "tools": _EXAMPLE_TOOLS},
                "FilterRequest",
                ref("FilterAnswer"),
            )
        },
        "/v1/tool-discovery/hot": {
            "post": _post(
                "hot",
                "Tools for an agent's next turn",
                "A few tools whole, some in brief, within a budget of tokens.",
                {"message": "find code", "tier0": ["read_file"], "tools": _EXAMPLE_TOOLS},
                "HotRequest",
                ref("HotAnswer"),
            )
        },
        "/v1/tool-discovery/feedback": {
            "post": _post(
                "feedback",
                "Tell which tool worked",
                "Only with `learning = on`. One event, or several as `events`.",
                {"pattern": "find code", "tool": "search_code", "success": True},
                {"anyOf": [ref("FeedbackEvent"), ref("FeedbackBatch")]},
                ref("FeedbackAnswer"),
                "202",
                also=(404,),
            )
        },
        "/v1/tool-discovery/chains": {
            "post": _post(
                "chains",
                "Tell which tools worked one after the other",
                "Only with `learning = on`.",
                {"intent": "fix a bug", "chain": ["search_code", "read_file"], "success": True},
                ref("ChainReport"),
                ref("FeedbackAnswer"),
                "202",
                also=(404,),
            )
        },
        "/v1/tool-discovery/insights": {
            "get": {
                **_plain(
                    "insights",
                    "The chain of tools for a pattern",
                    "Only with `learning = on`.",
                    ref("InsightAnswer"),
                    also=("422",),
                ),
                "parameters": [
                    {
                        "name": "pattern",
                        "in": "query",
                        "required": True,
                        "description": "What is to be done",
                        "schema": {"type": "string", "pattern": r"\S"},
                    }
                ],
            }
        },
        "/v1/stats": {
            "get": _plain(
                "stats", "Figures of use", "Of this process, since it started.", ref("StatsAnswer")
            )
        },
        "/v1/learning": {
            "get": _plain(
                "learning", "What was learned", "Only with `learning = on`.", ref("LearningAnswer")
            ),
            "delete": _plain("forget", "Forget what was learned", "Only with `learning = on`."),
        },
        "/healthz": {"get": {**probe, **_simple("healthz", "Alive", "The process answers.")}},
        "/readyz": {
            "get": {
                **probe,
                **_simple("readyz", "Ready", "Model loaded, self-test ranked, not draining.", 503),
            }
        },
        "/metrics": {
            "get": {
                "tags": ["operation"],
                "security": [{}, {"bearer": []}, {"apiKey": []}],
                "operationId": "metrics",
                "summary": "Prometheus metrics",
                "description": "Needs a key only with `metrics_auth = on`.",
                "responses": {
                    "200": {
                        "description": "Exposition text",
                        "content": {"text/plain": {"schema": {"type": "string"}}},
                    },
                    "401": {"$ref": "#/components/responses/401"},
                },
            }
        },
    }


def _post(
    operation: str,
    summary: str,
    description: str,
    example: Any,
    request: str | dict[str, Any],
    answer: dict[str, Any],
    status: str = "200",
    also: tuple[int, ...] = (),
) -> dict[str, Any]:
    """An operation that takes JSON; `also` are error statuses beside those of every call."""
    selects = isinstance(request, str)
    statuses = sorted({str(CODES[code].status) for code in _CALL_ERRORS} | set(map(str, also)))
    return {
        "tags": ["selection" if selects else "learning"],
        "operationId": operation,
        "summary": summary,
        "description": description,
        "security": [{"bearer": []}, {"apiKey": []}],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": ref(request) if isinstance(request, str) else request,
                    "example": example,
                },
            },
        },
        "responses": {
            status: {
                "description": "The answer",
                "headers": _headers(selection=request == "SearchRequest") if selects else {},
                "content": {"application/json": {"schema": answer}},
            },
            **_failures(statuses),
        },
    }


def _simple(operation: str, summary: str, description: str, also: int = 0) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object"}}}
    responses = {"200": {"description": description, "content": content}}
    if also:
        responses[str(also)] = {"description": "Not now", "content": content}
    return {
        "operationId": operation,
        "summary": summary,
        "description": description,
        "responses": responses,
    }


def _headers(*, selection: bool) -> dict[str, Any]:
    texts = {
        "X-Request-Id": "Echoed, or made when absent",
        "X-Catalog-Digest": "Digest of the tools; send it as `catalog` instead of `tools`",
        "Server-Timing": "Milliseconds spent decoding, compiling and ranking",
    }
    if selection:
        texts["X-Tool-Selection"] = "258->5; ranker=hybrid; cache=hit; outcome=match; degraded=no"
    return {
        name: {"description": text, "schema": {"type": "string"}} for name, text in texts.items()
    }


def _plain(
    operation: str,
    summary: str,
    description: str,
    answer: dict[str, Any] | None = None,
    also: tuple[str, ...] = (),
) -> dict[str, Any]:
    """An operation without a body; without an answer it is 204."""
    found: dict[str, Any] = {"204": {"description": "Done"}}
    if answer is not None:
        content = {"application/json": {"schema": answer}}
        found = {"200": {"description": "The answer", "content": content}}
    return {
        "tags": ["learning"],
        "operationId": operation,
        "summary": summary,
        "description": description,
        "security": [{"bearer": []}, {"apiKey": []}],
        "responses": found | _failures([*ANYWHERE, "401", "404", *also, "429", "503"]),
    }


ANYWHERE = ("403", "408", "421", "431")
"""Answers to heads, whatever the path."""


def _failures(statuses: Iterable[str]) -> dict[str, Any]:
    return {status: {"$ref": f"#/components/responses/{status}"} for status in statuses}


def ref(name: str) -> dict[str, Any]:
    """A reference to a schema of the document."""
    return {"$ref": REF.format(name=name)}
