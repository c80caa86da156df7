"""The most expensive requests that anyone with a key can send, inside all bounds and past them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.support import SEARCH, TOOLS, crowd
from toolscout.contract.bounds import (
    MAX_CHAIN,
    MAX_EVENTS,
    MAX_FILES,
    MAX_FILTER_VALUES,
    MAX_NAME_CHARS,
    MAX_NAMES,
    MAX_PARTS,
    MAX_PATTERNS,
    MAX_RECENT,
    MAX_RESOLVED,
    MAX_TOOL_VALUES,
)
from toolscout.contract.fields import MAX_EVENT_CHARS

V1 = "/v1/tool-discovery/"
CATALOG = "/v1/catalogs/bounded"
MIB = 1 << 20
ROOM = 15 * MIB
"""Bytes of a body that is as large as may be, with room for what stands around."""

LARGE = 10_000
"""Tools of the largest catalog."""

CONTEXT = {"files": ["src/some word.py " * 240] * MAX_FILES, "signals": ["word " * 39] * 100}


@dataclass(frozen=True)
class Dear:
    """An expensive request, the tools that `CATALOG` has before it, and whether it is refused."""

    name: str
    path: str
    body: Callable[[], bytes] = bytes
    method: str = "POST"
    registered: int = 0
    is_refused: bool = False


def names(count: int, chars: int = 6) -> list[str]:
    """Make distinct names."""
    return [f"n{number:0{chars}}" for number in range(count)]


def values(count: int, value: bytes = b"[]") -> bytes:
    """Write a JSON array of empty values."""
    return b"[" + b",".join([value] * count) + b"]"


def tool_of(definition: bytes) -> bytes:
    """Write a list of one tool with a definition."""
    return b'[{"name":"a","definition":{"x":' + definition + b"}}]"


def _json(**fields: Any) -> Callable[[], bytes]:
    return lambda: json.dumps(fields).encode()


def _search(**fields: Any) -> Callable[[], bytes]:
    return _json(**{"pattern": "spin a gadget"} | fields)


def _new_words(number: int) -> str:
    """Write a pattern of words that no other has."""
    return " ".join(f"w{number}x{word}" for word in range(MAX_EVENT_CHARS // 10))[:MAX_EVENT_CHARS]


def _large() -> list[dict[str, Any]]:
    """As many tools as one request may have, with a definition each."""
    return [tool | {"definition": {"note": "spin " * 20}} for tool in crowd(LARGE)]


def _nested_lists() -> bytes:
    """50 tools with nearly as many values each as one may have."""
    definition = values(MAX_TOOL_VALUES // 2 - 9)
    tools = (b'{"name":"t%d","definition":{"x":%b}}' % (n, definition) for n in range(50))
    return b"[" + b",".join(tools) + b"]"


def dearest() -> Iterator[Dear]:
    """List the dearest requests of every endpoint."""
    yield from _of_search()
    yield from _of_other_calls()
    yield from _of_catalogs()
    yield from _past_bounds()


LONG_REQUESTS = {
    "fences": "```x\n" * 12_000,
    "brackets": "[[" * 30_000 + "\nx y z",
    "calls": "a(" + ")" * 60_000 + "x\ny z",
    "negations": "don't " * 10_000,
    "quotes": "\"'a " * 15_000,
    "stops": "a. " * 20_000,
    "lines": "send it\n" * 8_000,
}
"""What is read of a request is bounded, and reading it takes time in proportion."""


def _of_search() -> Iterator[Dear]:
    recent = [{"name": name, "successes": 9} for name in names(MAX_RECENT, 1_000)]
    filters = {"tags": ["x" * 1_000] * MAX_FILTER_VALUES, "exclude": names(MAX_NAMES, 100)}
    few = crowd(300)
    dotted = [{"name": f"{n}." + "a." * 480} for n in range(2_000)]
    yield Dear("always_keep", SEARCH, _search(tools=few, always_keep=names(MAX_NAMES, 400)))
    yield Dear("session", SEARCH, _search(tools=few, session={"recent": recent}))
    yield Dear("context", SEARCH, _search(tools=few, context=CONTEXT))
    yield Dear("filters", SEARCH, _search(tools=few, filters=filters))
    yield Dear("pattern", SEARCH, _search(pattern="word, " * (ROOM // 6), tools=TOOLS))
    yield Dear(
        "definitions",
        SEARCH,
        lambda: b'{"pattern":"x","detail":"full","tools":' + _nested_lists() + b"}",
    )
    yield Dear("names", SEARCH, _search(tools=dotted))
    calls = [{"type": "tool_use", "name": "a." * 9}] * MAX_PARTS
    answer = {"role": "assistant", "content": calls[:1]}
    turns = [{"role": "user", "content": _new_words(n)} for n in range(3_000)]
    said = [message for turn in turns for message in (answer, turn)]
    long = {"role": "assistant", "tool_calls": [{"function": {"name": "a." * MIB}}]}
    last = [{"role": "assistant", "content": calls}, long, turns[0]]
    yield Dear("messages", SEARCH, _json(messages=said + last, tools=few))
    yield Dear("brackets", SEARCH, _search(pattern="[" * 4_096, tools=TOOLS))
    for name, text in LONG_REQUESTS.items():
        yield Dear(f"a request of {name}", SEARCH, _search(pattern=text, tools=few))


def _of_other_calls() -> Iterator[Dear]:
    patterns = [f"spin {n} gadget {n}" for n in range(MAX_PATTERNS)]
    shown = {"top_k": 150, "explain": True, "detail": "full"}
    prose = "spin a gadget " * (MAX_EVENT_CHARS // 14)
    event = {"tool": "a." * (MAX_NAME_CHARS // 2), "success": True}
    events = [event | {"pattern": _new_words(n)} for n in range(MAX_EVENTS)]
    chain = ["a." * (MAX_NAME_CHARS // 2 - 4) + str(n) for n in range(MAX_CHAIN)]
    tier0 = names(MAX_NAMES)
    yield Dear("batch", V1 + "search:batch", _json(patterns=patterns, tools=crowd(150), **shown))
    yield Dear(
        "resolve", V1 + "resolve", _json(names=["a." * 512] * MAX_RESOLVED, tools=crowd(1_000))
    )
    long = [{"name": f"{n}_" + "abcdefgh_" * 111} for n in range(6_000)]
    near = [f"{n}_" + "abcdefhg_" * 99 for n in range(MAX_RESOLVED)]
    yield Dear("resolve, long names", V1 + "resolve", _json(names=near, tools=long))
    files = ["[" * 4_094]
    brackets = _json(message="[" * 4_096, context={"files": files}, tools=TOOLS)
    yield Dear("hot, brackets", V1 + "hot", brackets)
    yield Dear(
        "hot",
        V1 + "hot",
        _json(
            message="x " * MIB,
            tools=crowd(500),
            tier0=tier0,
            token_budget=1_000_000_000,
            context=CONTEXT,
        ),
    )
    yield Dear("feedback", V1 + "feedback", _json(events=events))
    yield Dear("chains", V1 + "chains", _json(intent=prose, chain=chain, success=True))
    yield Dear("insights", f"{V1}insights?pattern={'spin+' * 2_000}", method="GET")


def _of_catalogs() -> Iterator[Dear]:
    known = [tool["name"] for tool in crowd(LARGE)]
    removed, left = known[: LARGE // 2], known[LARGE // 2 :]
    statuses = dict.fromkeys(left, "unavailable")
    yield Dear("put, many tools", CATALOG, lambda: json.dumps({"tools": _large()}).encode(), "PUT")
    yield Dear("put, many values", CATALOG, lambda: b'{"tools":' + _nested_lists() + b"}", "PUT")
    yield Dear(
        "patch",
        CATALOG,
        lambda: json.dumps(
            {"upsert": crowd(2_000, "other"), "remove": removed, "status": statuses}
        ).encode(),
        "PATCH",
        registered=LARGE,
    )
    full = "tools?detail=full&page_size=1000"
    for name, path in (
        ("page", full),
        ("filtered page", full + "&q=spin"),
        ("index", "index"),
        ("overview", "overview"),
        ("completions", "tools:complete?prefix=t"),
    ):
        yield Dear(name, f"{CATALOG}/{path}", method="GET", registered=LARGE)
    long = f"{CATALOG}/tools/{'a.' * (MAX_NAME_CHARS // 2)}"
    yield Dear("a name nobody has", long, method="GET", registered=LARGE, is_refused=True)
    schemas = _json(names=["a." * (MAX_NAME_CHARS // 2)] * MAX_RESOLVED)
    yield Dear("schemas", f"{CATALOG}/tools:batch", schemas, registered=LARGE)


def _past_bounds() -> Iterator[Dear]:
    """Yield requests that are refused, and cheaply."""
    start = b'{"pattern":"x","tools":'
    many = values(3_500_000, b'"a"')
    yield Dear(
        "values",
        SEARCH,
        lambda: start + b'[{"name":"a"}],"always_keep":' + many + b"}",
        is_refused=True,
    )
    yield Dear(
        "one tool", SEARCH, lambda: start + tool_of(values(5_000_000)) + b"}", is_refused=True
    )
    yield Dear(
        "entries",
        SEARCH,
        lambda: start + b"[" + b",".join(b'{"name":"n%d"}' % n for n in range(700_000)) + b"]}",
        is_refused=True,
    )
    yield Dear(
        "tags", SEARCH, lambda: start + b'[{"name":"a","tags":' + many + b"}]}", is_refused=True
    )
    yield Dear(
        "unknown fields",
        SEARCH,
        lambda: (
            start + b'[{"name":"a"}],' + b",".join(b'"f%d":1' % n for n in range(1_000_000)) + b"}"
        ),
        is_refused=True,
    )
