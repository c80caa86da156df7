"""Answers of the meta-tools, made from whatever holds the tools.

A `Source` finds, resolves and shows tools; the handlers here make of that what a model reads. Their
docstrings are the descriptions of the tools.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import UnsetType

from toolscout.common.spelling import find_prefix, fold
from toolscout.contract.answers import Resolution
from toolscout.contract.catalogs import SchemaError, SchemasAnswer, ToolPage
from toolscout.contract.fields import Level, Outcome
from toolscout.contract.requests import Filters
from toolscout.contract.tools import ToolDetail
from toolscout.metatools.arguments import (
    CallError,
    GetRequiredKeys,
    GetToolSchemas,
    ListToolsMeta,
    SearchTools,
    ToolInfo,
)
from toolscout.tools.file_entries import describe_file
from toolscout.tools.risk import requires_confirmation, requires_schema, risk_of
from toolscout.tools.shapes import as_mapping, read_texts, schema_of
from toolscout.tools.summary import (
    MAX_HINT_CHARS,
    MAX_HINTS,
    count_namespaces,
    cut_first_sentence,
    pick_examples,
)

_AFTER = "after:"

TRY_ALL = "try other words, or page through them with list_tools_meta"
TRY_AGAIN = "try other words"

CANDIDATES = 4
"""Tools that a prompt shows: the best one, and the names of the next ones."""

MAX_WHOLE_CHARS = 8_192
"""A larger tool is shown in brief."""


class ShownTool(ToolDetail, frozen=True, omit_defaults=True):
    """A tool that was not compiled, and the token that a call of it has to repeat."""

    call: str | None = None
    """The tool that calls it."""
    token: str | None = None


class ToolsFound(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer of `search_tools`."""

    tools: Sequence[ToolDetail]
    outcome: Outcome | None = None
    catalog: str | None = None
    """The digest of the catalog."""
    degraded: str | None = None
    """The ranker that ran instead of the configured one, because time was short."""
    message: str | None = None
    total: int | None = None
    """The number of all tools, where none fits."""
    namespaces: dict[str, int] | None = None
    for_example: list[str] | None = None
    unavailable: dict[str, str] | None = None
    """Servers whose tools are left out, and why."""


class RequiredKeys(msgspec.Struct, frozen=True):
    """The answer of `get_required_keys_for_tool`."""

    name: str
    required_keys: Sequence[str]


class ToolSource(Protocol):
    """Tools to look into; each method may raise a `CallError`."""

    async def search(self, arguments: SearchTools) -> ToolsFound:
        """Search the tools."""

    async def names(self, filters: Filters | None) -> Sequence[str]:
        """Return the names of the tools that pass, sorted."""

    async def resolve(self, names: Sequence[str]) -> Sequence[Resolution]:
        """Return the tools that written names mean, or similar names."""

    async def show(self, names: Sequence[str], detail: Level) -> Sequence[ToolDetail]:
        """Return tools at a level of detail; whole, they count as read."""

    async def domains(self) -> Mapping[str, int] | None:
        """Return how many tools each domain has, most first; None while tools may be missing."""

    async def required_keys(self, name: str) -> Sequence[str]:
        """Return the keys that a tool needs."""


async def search_tools(source: ToolSource, arguments: SearchTools) -> ToolsFound:
    """Find tools for a task. Returns names and what they do, best first."""
    answer = await source.search(arguments)
    if not answer.tools:
        await check_domain(source, arguments.domain)
    return answer


async def list_tools_meta(source: ToolSource, arguments: ListToolsMeta) -> ToolPage:
    """List all tools by name, a page at a time. Prefer search_tools."""
    names = await source.names(arguments.filters)
    if not names:
        await check_domain(source, arguments.domain)
    page, following = cut_page(names, arguments.cursor or None, arguments.page_size)
    shown = await source.show(page, arguments.detail)
    return ToolPage(list(shown), len(names), following)


async def tool_info(source: ToolSource, arguments: ToolInfo) -> ToolDetail:
    """Show one tool in brief, or with detail "full" its input schema: read that before a call."""
    (shown,) = await source.show([await resolve_name(source, arguments.name)], arguments.detail)
    return shown


async def get_tool_schemas(source: ToolSource, arguments: GetToolSchemas) -> SchemasAnswer:
    """Show several tools whole, and for names that do not exist similar ones."""
    answers = await source.resolve(list(dict.fromkeys(arguments.names)))
    names = dict.fromkeys(one.name for one in answers if one.name is not None)
    shown = await source.show(list(names), "full")
    return SchemasAnswer(list(shown), list_schema_errors(answers), len(shown))


async def get_required_keys_for_tool(
    source: ToolSource, arguments: GetRequiredKeys
) -> RequiredKeys:
    """List the keys that a tool needs to be called: their names, no values."""
    name = await resolve_name(source, arguments.name)
    return RequiredKeys(name, await source.required_keys(name))


async def find_tool(source: ToolSource, task: Any, call: str) -> str:
    """Write the prompt that shows the best tool for a task; `call` says how it is called.

    Raises:
        CallError: there is no task.
    """
    if not isinstance(task, str) or not task.strip():
        raise CallError("task: expected a text")
    answer = await source.search(SearchTools(query=task, top_k=CANDIDATES, detail="names"))
    if not answer.tools or answer.outcome == "no_match":
        nothing = answer.message or describe_none(await source.names(None)).message
        return f"Task: {task}\n\n{nothing}"
    best, *others = (tool.name for tool in answer.tools)
    (tool,) = await source.show([best], "full")
    return show_best(task, tool, others, call, is_clear=answer.outcome == "match")


async def check_domain(source: ToolSource, domain: str | UnsetType) -> None:
    """Check that tools have the domain by which nothing was found.

    Raises:
        CallError: none has it; the message names those that tools have.
    """
    counts = await source.domains() if domain else None
    if not domain or counts is None or fold(domain) in counts:
        return
    shown = [one for one in counts if len(one) <= MAX_HINT_CHARS][:MAX_HINTS]
    raise CallError(f"domain: no tool has it; tools have {', '.join(shown) or 'none'}")


async def resolve_name(source: ToolSource, name: str) -> str:
    """Return the name of the tool that a written name means.

    Raises:
        CallError: there is none, or there are several; the message has similar names.
    """
    (answer,) = await source.resolve([name])
    if answer.name is not None:
        return answer.name
    what = "several tools answer to" if answer.ambiguous else "there is no tool of"
    near = ", ".join((answer.ambiguous or answer.suggestions or [])[:MAX_HINTS])
    raise CallError(f"{what} this name{'; near: ' if near else ''}{near}")


def list_schema_errors(answers: Sequence[Resolution]) -> list[SchemaError]:
    """Return the names that mean no tool, each with similar ones."""
    return [
        SchemaError(one.query, one.ambiguous and one.ambiguous[:MAX_HINTS], one.suggestions)
        for one in answers
        if one.name is None
    ]


def show(tool: Any, detail: Level, token: str | None = None, call: str | None = None) -> ShownTool:
    """Show a tool of any provider's shape; in brief by a sentence, its parameters and risk."""
    name, description = read_texts(tool)
    if detail == "names":
        return ShownTool(name)
    entry = as_mapping(tool)
    level = risk_of(tool)
    is_full = detail == "full"
    parameters, required = list_parameters(tool)
    return ShownTool(
        name,
        parameters=None if is_full else parameters or None,
        required=None if is_full else required or None,
        summary=None if is_full else cut_first_sentence(description),
        description=description if is_full else None,
        input_schema=dict(schema_of(tool)) if is_full else None,
        status="unavailable" if entry.get("status") == "unavailable" else None,
        risk=level,
        source=describe_file(entry.get("tags"), entry.get("source")),
        requires_full_schema=requires_schema(level) or None,
        requires_confirmation=requires_confirmation(level) or None,
        token=token,
        call=call,
    )


def list_parameters(tool: Any) -> tuple[list[str], list[str]]:
    """Return the names of the parameters of a tool, and those that are required."""
    schema = schema_of(tool)
    properties = schema.get("properties")
    required = schema.get("required")
    listed = properties if isinstance(properties, Mapping) else {}
    needed = [one for one in required if one in listed] if isinstance(required, list) else []
    return list(map(str, listed)), list(map(str, needed))


def describe_none(
    names: Sequence[str], advice: str = TRY_ALL, namespace_of: Callable[[str], str] = find_prefix
) -> ToolsFound:
    """Say that nothing fits, how many tools there are, and some namespaces, or names without.

    That is said of a search that has worked; one that could not be made is an error.
    """
    spaces = count_namespaces(names, namespace_of)
    there_are = "There is 1 tool" if len(names) == 1 else f"There are {len(names)} tools"
    return ToolsFound(
        [],
        message=f"No tool fits this query. {there_are}: {advice}.",
        total=len(names),
        namespaces=spaces or None,
        for_example=None if spaces else pick_examples(names) or None,
    )


def cut_page(
    names: Sequence[str], cursor: str | None, size: int
) -> tuple[Sequence[str], str | None]:
    """Return a page of sorted names, and the cursor of the next one; None after the last.

    A cursor names the last name of its page, so that names may come and go between two pages.

    Raises:
        CallError: the cursor is malformed.
    """
    start = 0 if cursor is None else bisect_right(names, _read_cursor(cursor))
    page = names[start : start + size]
    if start + size >= len(names):
        return page, None
    return page, urlsafe_b64encode(f"{_AFTER}{page[-1]}".encode()).decode()


def _read_cursor(cursor: str) -> str:
    try:
        text = urlsafe_b64decode(cursor.encode()).decode()
    except (NotBase64, ValueError):
        text = ""
    if not text.startswith(_AFTER):
        raise CallError("cursor: not one of this list; begin again without a cursor")
    return text.removeprefix(_AFTER)


def show_best(
    task: str, tool: ToolDetail, others: Sequence[str], call: str, *, is_clear: bool
) -> str:
    """Show the best tool for a task, and the names of the next ones.

    Args:
        task: what is to be done.
        tool: the best one, in full.
        others: names of the next ones.
        call: a sentence that says how a tool is called.
        is_clear: whether it fits, and is not only the nearest.
    """
    lead = "The best tool is" if is_clear else "No tool clearly fits; the nearest is"
    description = tool.description or tool.summary or ""
    schema = tool.input_schema or {}
    shown = f"Its input schema: {msgspec.json.encode(schema).decode()}"
    if len(description) + len(shown) > MAX_WHOLE_CHARS:
        description = cut_first_sentence(description)
        properties = schema.get("properties")
        parameters = ", ".join(properties if isinstance(properties, dict) else ()) or "none"
        shown = f"Parameters: {parameters} (tool_info with detail full shows its schema)"
    lines = [f"Task: {task}", "", f"{lead} `{tool.name}`: {description}", shown]
    if tool.required_keys:
        lines += [f"It needs the keys: {', '.join(tool.required_keys)}"]
    if tool.requires_confirmation:
        lines += ["It destroys something: ask the user before you call it."]
    if others:
        lines += [f"Others that may fit: {', '.join(others)} (tool_info shows one)"]
    return "\n".join([*lines, "", f"{call} If none of them does the task, say so."])
