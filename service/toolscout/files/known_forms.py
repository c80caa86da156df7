"""Files that hold no tools but tell of them, each with what to do."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

OF_SERVERS = frozenset(("mcpServers", "servers", "context_servers", "amp.mcpServers"))
"""Keys of files that name MCP servers."""

_OF_TOOLS = frozenset(
    ("description", "inputSchema", "input_schema", "parameters", "definition", "function")
)
"""Keys of which a tool has one, beside its name."""


class KnownForm(NamedTuple):
    """A form of file that is no list of tools."""

    is_it: Callable[[Mapping[str, Any]], bool]
    what: str
    """What it is and what to do; `{file}` stands for its name in a command."""


def _match_keys(*keys: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda content: all(key in content for key in keys)


def _match_text(key: str, part: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda content: part in str(content.get(key, ""))


def _is_postman(content: Mapping[str, Any]) -> bool:
    about = content.get("info")
    return isinstance(about, Mapping) and "item" in content and "schema" in about


KNOWN_FORMS = (
    KnownForm(
        lambda content: not OF_SERVERS.isdisjoint(content),
        "names servers, not tools; toolscout mcp --config {file} --list > tools.json writes theirs,"
        " toolscout import --mcp {file} --catalog mine registers them",
    ),
    KnownForm(
        _match_text("$schema", "server.schema.json"),
        "is an entry of the MCP registry, which names a server: put its command or address under"
        " mcpServers in mcp.json, then toolscout mcp --config mcp.json --list > tools.json",
    ),
    KnownForm(
        _match_text("kind", "discovery#restDescription"),
        "is a Google discovery document: convert it to OpenAPI first, such as by"
        " npx api-spec-converter --from=google --to=openapi_3",
    ),
    KnownForm(
        _is_postman,
        "is a Postman collection: convert it to OpenAPI first, such as by npx postman-to-openapi",
    ),
    KnownForm(
        _match_keys("skills", "capabilities"),
        "is the card of an agent, whose skills are no tools: what it offers over MCP is listed by"
        " toolscout mcp --config mcp.json --list",
    ),
    KnownForm(
        lambda content: "openapi" in content and "paths" not in content,
        "is an OpenAPI document without paths: it has no operations",
    ),
    KnownForm(_match_keys("asyncapi"), "is an AsyncAPI document, whose messages are no tools"),
    KnownForm(
        _match_keys("swagger", "apis"),
        "is a list of Swagger 1 documents: convert them to OpenAPI first, such as by"
        " npx api-spec-converter --from=swagger_1 --to=openapi_3",
    ),
)


def explain_form(content: Any, path: Path | None) -> str | None:
    """Return what a file is that has no tools, and what to do; None if it is not known."""
    if not isinstance(content, Mapping):
        return None
    file = "mcp.json" if path is None else shlex.quote(str(path))
    found = next((form.what for form in KNOWN_FORMS if form.is_it(content)), None)
    return found and found.format(file=file)


def is_one_tool(content: Any) -> bool:
    """Whether an object is a single tool."""
    return (
        isinstance(content, Mapping)
        and isinstance(content.get("name"), str)
        and not _OF_TOOLS.isdisjoint(content)
        and "skills" not in content
    )


def list_by_name(content: Any) -> list[dict[str, Any]] | None:
    """Return the tools of an object that has them by name; None of another object."""
    if not isinstance(content, Mapping) or not content:
        return None
    if not all(isinstance(one, Mapping) and _OF_TOOLS & one.keys() for one in content.values()):
        return None
    return [{"name": name, **one} for name, one in content.items()]
