"""The meta-tools over registered catalogs, which the metrics count like calls over HTTP."""

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from time import perf_counter
from typing import Annotated, Any, ParamSpec, TypeVar

import mcp_types as types
import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolscout.contract.answers import Resolution
from toolscout.contract.bounds import MAX_MCP_SHOWN
from toolscout.contract.fields import Level
from toolscout.contract.requests import Filters
from toolscout.contract.tools import ToolDetail
from toolscout.index import pages
from toolscout.index.catalog import Catalog
from toolscout.index.details import describe_tools
from toolscout.metatools import arguments
from toolscout.metatools.answers import ToolsFound, describe_none
from toolscout.metatools.table import TOOLS, MetaTool, write_instructions
from toolscout.ranking.resolve import Resolver
from toolscout.server.calls import lookup
from toolscout.server.calls.catalog_reads import READ_AT_ONCE
from toolscout.server.calls.envelope import ask_with
from toolscout.server.calls.feedback import add_use
from toolscout.server.calls.search import decide, set_deadline
from toolscout.server.compiling.work_threads import Deadline, run_inline_or_in_thread
from toolscout.server.http.problems import REFUSALS, refuse
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service

P = ParamSpec("P")
T = TypeVar("T")

TOP_K = 10
"""Tools that a search returns by default: in lines, ten cost what five do as JSON."""

TRACE: ContextVar[Trace] = ContextVar("trace")
"""The trace of the message that the running task answers."""

INSTRUCTIONS = write_instructions(
    "Toolscout finds tools; it never runs them.",
    "call it where it lives",
    "tool_info without detail shows what a tool does and its parameters, where several may fit, "
    "get_tool_schemas reads several at once, and get_required_keys_for_tool returns the keys "
    "that a tool needs.",
)

_CatalogName = Annotated[
    str, Meta(description="Name or digest of the catalog; may be left out where there is one")
]


def _add_catalog(tool: MetaTool) -> MetaTool:
    """Add the argument `catalog` to a tool."""
    fields: list[Any] = [("catalog", _CatalogName | UnsetType, UNSET)]
    if tool.arguments is arguments.SearchTools:
        fields.append(("top_k", arguments.TopK, TOP_K))
    extended: Any = msgspec.defstruct(
        tool.arguments.__name__,
        fields,
        bases=(tool.arguments,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
    return tool._replace(arguments=extended)


OFFERED = {name: _add_catalog(tool) for name, tool in TOOLS.items()}
DEFINITIONS = [
    types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=arguments.schema_of(tool.arguments),
        output_schema=arguments.answer_schema(tool.answer),
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )
    for tool in OFFERED.values()
]


class CatalogTools:
    """The tools of one catalog, as the meta-tools look into them."""

    def __init__(self, service: Service, catalog: Catalog) -> None:
        self._service = service
        self._catalog = catalog

    async def search(self, sent: arguments.SearchTools) -> ToolsFound:
        """Search the catalog; metrics and log count it as a search over HTTP."""
        trace = TRACE.get()
        asked = {"pattern": sent.query, "top_k": sent.top_k, "filters": sent.filters}
        ask = ask_with(self._service.settings, **asked)
        trace.ask = ask
        trace.top_k = ask.top_k
        deadline = set_deadline(self._service, perf_counter())
        if trace.cache == "miss":
            deadline = max(deadline, set_deadline(self._service, trace.started, cold=True))
        else:
            trace.cache = "hit"
            trace.offered = trace.unique
        decision = await decide(self._service, trace, self._catalog, deadline)
        shown = await self.show(decision.names, sent.detail)
        answer = ToolsFound(shown) if shown else describe_none(self._catalog.names)
        return msgspec.structs.replace(
            answer,
            outcome=decision.outcome,
            catalog=self._catalog.digest,
            degraded=decision.degraded,
        )

    async def names(self, filters: Filters | None) -> Sequence[str]:
        """Return the names of the tools that pass, sorted."""
        if filters is None:
            return self._catalog.names
        return await _run(len(self._catalog), pages.list_names, self._catalog, filters)

    async def resolve(self, names: Sequence[str]) -> list[Resolution]:
        """Return the tools that written names mean, or similar names."""
        resolve = Resolver(self._catalog, Deadline()).resolve
        return await _run(len(names) * len(self._catalog), lambda: list(map(resolve, names)))

    async def show(self, names: Sequence[str], detail: Level) -> list[ToolDetail]:
        """Return tools at a level of detail.

        Raises:
            CallError: they are more than the SDK should copy and check on the event loop.
        """
        catalog = self._catalog
        rows = [catalog.rows[name] for name in names]
        nbytes = sum(len(catalog.wires[row]) for row in rows) if detail == "full" else 0
        if nbytes > MAX_MCP_SHOWN:
            raise arguments.CallError(
                f"these tools have {nbytes} bytes, at most {MAX_MCP_SHOWN} are shown at once: "
                "ask for fewer, or for detail brief"
            )
        return await _run(len(rows), describe_tools, catalog, rows, detail)

    async def domains(self) -> dict[str, int]:
        """Return how many tools each domain has, most first."""
        return await _run(len(self._catalog), pages.count_filtered_domains, self._catalog)

    async def required_keys(self, name: str) -> Sequence[str]:
        """Return the keys that a tool needs."""
        return self._catalog.tool(self._catalog.rows[name]).required_keys or ()


async def _run(tools: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call about so many tools, in a thread if they are many."""
    return await run_inline_or_in_thread(tools, READ_AT_ONCE, work, *args, **kwargs)


async def call(service: Service, name: str, sent: dict[str, Any] | None) -> types.CallToolResult:
    """Call a tool; what is wrong is in the result, where a model can correct it."""
    tool = OFFERED[name]
    try:
        call_arguments: Any = arguments.read_arguments(tool.arguments, sent)
        is_search = isinstance(call_arguments, arguments.SearchTools)
        catalog = await find_catalog(service, call_arguments.catalog, is_search=is_search)
        answer: Any = await tool.handler(CatalogTools(service, catalog), call_arguments)
    except (arguments.CallError, *REFUSALS) as error:
        text = str(error) if isinstance(error, arguments.CallError) else refuse(error).detail
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
    if isinstance(answer, ToolDetail):
        answer = add_use(service, TRACE.get().tenant, catalog, answer)
    structured = msgspec.to_builtins(answer)
    if isinstance(answer, ToolsFound) and call_arguments.detail == "brief":
        text = "\n".join(_write_search(catalog, answer))
    else:  # compact, because an indented text would have a third more tokens
        text = msgspec.json.encode(structured).decode()
    return types.CallToolResult(
        content=[types.TextContent(text=text)], structured_content=structured
    )


def _write_search(catalog: Catalog, answer: ToolsFound) -> list[str]:
    more = [f"degraded: {answer.degraded}"] if answer.degraded else []
    more += [answer.message] if answer.message else []
    rows = (catalog.rows[tool.name] for tool in answer.tools)
    return [f"outcome: {answer.outcome}", *more, *write_lines(catalog, rows)]


def write_lines(catalog: Catalog, rows: Iterable[int] | None = None) -> list[str]:
    """Return the tools of some rows, or all, in a line each."""
    return [f"{tool}: {summary}" for tool, summary in pages.index(catalog, rows)]


async def find_catalog(
    service: Service, name: str | UnsetType | None, *, is_search: bool = False
) -> Catalog:
    """Return the catalog of a name or digest, or the only one.

    A search waits for new tools as one over HTTP does; everything else needs no vectors.

    Raises:
        CallError: none is named, and there is not exactly one.
        CatalogUnknown: there is none of this name.
        StoreUnavailable: the store could not be read.
    """
    trace = TRACE.get()
    if not isinstance(name, str):
        names = await service.registry.names(trace.tenant)
        if len(names) != 1:
            listed = f"one of {', '.join(names)}" if names else "none is registered"
            raise arguments.CallError(f"name a catalog: {listed}")
        name = names[0]
    complete_by = set_deadline(service, trace.started, cold=True) if is_search else None
    return await lookup.find(service, trace, name, complete_by)
