"""Generated catalogs: what proxies send, and the oddest things they could."""

import json
from typing import Any

from hypothesis import strategies as st

from toolscout.contract.requests import Filters

_VERBS = ["archive", "cache", "delta", "index", "match", "order", "query", "report", "send"]
_NOUNS = ["alpha", "branch", "email", "file", "graph", "host", "invoice", "job", "key", "ledger"]
WORDS = [*_VERBS, *_NOUNS, "note", "page", "table", "ticket", "user", "vault", "weather", "zone"]

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_cjk = st.text("検索天気予報文件读取发送邮件파일검색날씨", min_size=1, max_size=8)
_word = st.sampled_from(WORDS)
_prose = st.lists(_word, min_size=1, max_size=8).map(" ".join)


@st.composite
def identifiers(draw: st.DrawFn) -> str:
    """Names as programmers write them, of two or three words."""
    parts = draw(st.lists(_word, min_size=2, max_size=3, unique=True))
    style = draw(st.sampled_from(["snake", "camel", "kebab", "dotted", "server"]))
    if style == "camel":
        return parts[0] + "".join(part.title() for part in parts[1:])
    if style == "server":
        return "mcp__srv__" + "_".join(parts)
    return {"snake": "_", "kebab": "-", "dotted": "."}[style].join(parts)


names = st.one_of(identifiers(), _word, _cjk, _text.filter(bool))


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """JSON Schemas, nested, with the odd keys that real ones have."""
    properties: dict[str, Any] = {}
    for name in draw(st.lists(st.one_of(_word, _cjk, _text), max_size=3)):
        sub: dict[str, Any] = {"type": draw(st.sampled_from(["string", "object", "array"]))}
        if draw(st.booleans()):
            sub["description"] = draw(st.one_of(_prose, _text, st.none(), st.integers()))
        if depth and draw(st.booleans()):
            nested = draw(schemas(depth - 1))
            sub |= draw(
                st.sampled_from([nested, {"items": nested}, {"anyOf": [nested, {"type": "null"}]}])
            )
        properties[name] = sub
    extras: list[dict[str, Any]] = [{}, {"$schema": "x"}, {"$ref": "#/$defs/A"}]
    extra = draw(st.sampled_from([*extras, {"additionalProperties": False}]))
    return {"type": "object", "properties": properties, **extra}


def in_shape(shape: str, name: str, description: str | None, schema: dict[str, Any]) -> Any:  # noqa: PLR0911  # one line for each shape
    """Return a definition the way one provider writes it."""
    about = {"name": name} | ({} if description is None else {"description": description})
    if shape == "openai_chat":
        return {"type": "function", "function": about | {"parameters": schema}}
    if shape == "openai_responses":
        return {"type": "function", "strict": True} | about | {"parameters": schema}
    if shape == "anthropic":
        return about | {"input_schema": schema, "cache_control": {"type": "ephemeral"}}
    if shape == "mcp":
        return about | {"inputSchema": schema, "annotations": {"readOnlyHint": True}}
    if shape == "gemini":
        return about | {"parameters": schema}
    if shape == "bedrock":
        return {"toolSpec": about | {"inputSchema": {"json": schema}}}
    return schema


SHAPES = ("openai_chat", "openai_responses", "anthropic", "mcp", "gemini", "bedrock", "bare_schema")


@st.composite
def tools(draw: st.DrawFn, named: st.SearchStrategy[str] = names) -> dict[str, Any]:
    """One tool: any name, any or no description, any provider's definition, or none."""
    tool: dict[str, Any] = {"name": draw(named)}
    description = draw(
        st.one_of(
            _prose,
            _text,
            _cjk,
            st.sampled_from([None, "", " ", "{", "[]"]),
            schemas(0).map(json.dumps),
        )
    )
    if description is not None or draw(st.booleans()):
        tool["description"] = description
    if draw(st.booleans()):
        shape = draw(st.sampled_from(SHAPES))
        key = draw(st.sampled_from(["definition", "parameters"]))
        tool[key] = in_shape(shape, draw(names), description, draw(schemas()))
    if draw(st.booleans()):
        tool |= {"unheard_of": 1, "tags": None, "definition": tool.get("definition")}
    return tool


def catalogs(min_size: int = 0, max_size: int = 12) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Tool lists; every other one sends each tool twice, some with another text."""
    lists = st.lists(tools(), min_size=min_size, max_size=max_size)
    return st.one_of(lists, lists.map(lambda sent: sent + sent))


def distinct_catalogs(min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[list[Any]]:
    """Tool lists in which no name has two texts."""
    return st.lists(tools(), min_size=min_size, max_size=max_size, unique_by=lambda t: t["name"])


RISKS = ["read_only", "write_local", "write_remote", "destructive"]


@st.composite
def labelled(draw: st.DrawFn) -> dict[str, Any]:
    """Return a tool with some of the fields that filters look at."""
    optional = {
        "namespace": st.sampled_from(["git", "git.api", "mail"]),
        "domain": st.sampled_from(["code", "comms"]),
        "tags": st.lists(st.sampled_from(["red", "Blue"]), max_size=2),
        "source": st.sampled_from(["mcp", "local"]),
        "capabilities": st.lists(st.sampled_from(["write", "stream"]), max_size=2),
        "risk": st.sampled_from(RISKS),
        "status": st.sampled_from(["available", "unavailable"]),
        "annotations": st.sampled_from([{"readOnlyHint": True}, {"destructiveHint": True}]),
    }
    chosen = {key: draw(value) for key, value in optional.items() if draw(st.booleans())}
    return draw(tools()) | chosen


def labelled_catalogs() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Labelled tools, each name once."""
    return st.lists(labelled(), min_size=1, max_size=10, unique_by=lambda t: t["name"])


filters = st.builds(
    Filters,
    namespaces=st.sampled_from([None, (), ("git",), ("mail", "GIT")]),
    domains=st.sampled_from([None, None, ("code",)]),
    tags=st.sampled_from([None, None, ("blue",), ("red", "blue")]),
    sources=st.sampled_from([None, None, ("mcp",)]),
    capabilities=st.sampled_from([None, None, ("stream",), ("Write",)]),
    max_risk=st.sampled_from([None, *RISKS]),
)

patterns = st.one_of(
    _prose,
    identifiers(),
    _cjk,
    _text.filter(str.strip),
    st.sampled_from(
        [
            "send.*(email|note)",
            "^file",
            "[a-z",
            "(",
            "*",
            "\\",
            "a|b",
            ".*",
            "qxzv wvut",
            "??",
            "🔥",
        ]
    ),
)

rankers = st.sampled_from(["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"])
