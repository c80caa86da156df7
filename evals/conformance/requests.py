"""Rules of what is taken: lists, the shapes of tools, wrong requests, the newer contract."""

import json
from collections.abc import Callable
from typing import Any

from evals.conformance.backend import NEWER_PATH, PATH, Backend, answer_of, demand
from evals.conformance.contract import ANSWER, ASKED, TOOLS, Rules

rule = Rules()

SHAPES: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {
    "chat": lambda name, of: {"type": "function", "function": {"name": name, "parameters": of}},
    "responses": lambda name, of: {"type": "function", "name": name, "parameters": of},
    "anthropic": lambda name, of: {"name": name, "input_schema": of},
    "mcp": lambda name, of: {"name": name, "inputSchema": of},
    "gemini": lambda name, of: {"name": name, "parametersJsonSchema": of},
    "bedrock": lambda name, of: {"toolSpec": {"name": name, "inputSchema": {"json": of}}},
    "schema": lambda name, of: of,
}
"""How providers write down a tool of a name with a schema."""


def schema(about: str) -> dict[str, Any]:
    """Return a JSON Schema whose one property says what a tool is for."""
    return {"type": "object", "properties": {"value": {"type": "string", "description": about}}}


@rule("lists", "A tool that comes twice is one tool, and of two texts the first counts")
def _takes_tools_twice(backend: Backend) -> None:
    names = backend.search(pattern=ASKED, top_k=5, tools=TOOLS + TOOLS)
    demand(names.count(ANSWER) == 1, f"{names}")
    other = [{"name": ANSWER, "description": "Water the plants in the garden"}]
    names = backend.search(pattern="send an e-mail message", top_k=1, tools=TOOLS + other)
    demand(names == [ANSWER], f"{names}: the second text counted")


@rule("lists", "Of no tools none is selected")
def _takes_an_empty_list(backend: Backend) -> None:
    demand(backend.search(pattern=ASKED, tools=[]) == [], "names of an empty list")


@rule("lists", "A description may be missing, null, empty, or JSON itself")
def _takes_bare_tools(backend: Backend) -> None:
    tools: list[Any] = [{"name": "without"}]
    for name, text in (("null", None), ("empty", ""), ("json", '{"type": "object"}')):
        tools.append({"name": name, "description": text})
    names = backend.search(pattern="empty", top_k=1, tools=TOOLS + tools)
    demand(names == ["empty"], f"{names}")


@rule("lists", "An entry that is no tool does not fail its list")
def _passes_over_what_is_no_tool(backend: Backend) -> None:
    for entry in (None, {"type": "web_search"}, {"name": None}):
        names = backend.search(pattern=ASKED, top_k=1, tools=[entry, *TOOLS])
        demand(names == [ANSWER], f"{names} beside {entry}")


@rule("lists", "A list of 360 tools with definitions, 330 KB, is taken in one body")
def _takes_many_tools(backend: Backend) -> None:
    text = "Write a record of a customer into a table, and say what was there before. " * 10
    crowd = [
        {"name": f"table_{n}", "description": text, "definition": {"parameters": schema(text[:90])}}
        for n in range(360)
    ]
    names = backend.search(pattern=ASKED, top_k=1, tools=crowd + TOOLS)
    demand(names == [ANSWER], f"{names}")


@rule("lists", "No query is refused for its words")
def _takes_any_query(backend: Backend) -> None:
    for query in ("(unbalanced[", "a" * 100_000, "\x00", "🙂", "%s{}$", "\ud83d\ude42 .*"):
        demand(isinstance(backend.search(pattern=query, tools=TOOLS), list), query)


@rule("shapes", "What parameters say is found in the definition of every provider")
def _reads_every_definition(backend: Backend) -> None:
    about = "the galaxy whose red shift is measured"
    for kind, shape in SHAPES.items():
        tools = [*TOOLS, {"name": "tool_17", "definition": shape("tool_17", schema(about))}]
        names = backend.search(pattern="measure the red shift of a galaxy", top_k=1, tools=tools)
        demand(names == ["tool_17"], f"{names} for {kind}")


@rule("shapes", "The name beside a definition is answered, not the one inside it")
def _answers_with_the_outer_name(backend: Backend) -> None:
    definition = SHAPES["chat"]("measure_red_shift", schema("a galaxy"))
    tools = [*TOOLS, {"name": "sky__17", "definition": definition}]
    names = backend.search(pattern="measure the red shift of a galaxy", top_k=1, tools=tools)
    demand(names == ["sky__17"], f"{names}")


@rule("shapes", "Parameters inside other parameters are read, too")
def _reads_nested_parameters(backend: Backend) -> None:
    inner = schema("the galaxy whose red shift is measured")
    outer = {"type": "object", "properties": {"of": {"type": "array", "items": inner}}}
    tools = [*TOOLS, {"name": "tool_17", "definition": SHAPES["mcp"]("tool_17", outer)}]
    names = backend.search(pattern="measure the red shift of a galaxy", top_k=1, tools=tools)
    demand(names == ["tool_17"], f"{names}")


@rule("wrong", "A field that nobody knows is ignored")
def _ignores_unknown_fields(backend: Backend) -> None:
    names = backend.search(pattern=ASKED, top_k=1, tools=TOOLS, zz_from_a_later_release={"a": [1]})
    demand(names == [ANSWER], f"{names}")


@rule("wrong", "What is no JSON, or has a field of a wrong type, is refused in few words")
def _refuses_what_is_no_request(backend: Backend) -> None:
    for body in (b"", b"{", b"[]", b'"text"', b"\xff"):
        backend.refuse(body, (400, 422))
    for wrong in ({"top_k": 0}, {"top_k": "many"}, {"tools": "all"}, {"pattern": 5}):
        backend.refuse({"pattern": ASKED, "tools": TOOLS, **wrong}, (400, 422))


@rule("wrong", "A blank query is refused, for nothing can be found for it")
def _refuses_a_blank_query(backend: Backend) -> None:
    for query in ("", " ", "\n\t"):
        backend.refuse({"pattern": query, "tools": TOOLS}, (400, 422))


@rule("wrong", "A refusal repeats nothing of the tools, as callers log it")
def _keeps_secrets(backend: Backend) -> None:
    tools = [{"name": "a", "description": "plugh-xyzzy"}]
    refusal = backend.refuse({"pattern": "plugh-xyzzy", "top_k": -1, "tools": tools}, (400, 422))
    demand(b"plugh" not in refusal.content, "the refusal repeats a description or the query")


@rule(
    "newer",
    "`query` and `max_tools` get `success`, `data` and `selected_names`, with 200",
)
def _answers_the_newer_contract(backend: Backend) -> None:
    for path in (NEWER_PATH, NEWER_PATH.rstrip("/"), PATH):
        response = backend.post({"query": ASKED, "max_tools": 1, "tools": TOOLS}, path)
        demand(response.status_code == 200, f"status {response.status_code} at {path}")
        answer = answer_of(response)
        demand(answer.get("success") is True, f"success is not true at {path}")
        demand(answer.get("selected_names") == [ANSWER], f"no selected_names at {path}")
        found = (answer.get("data") or {}).get("relevant_tools")
        demand(found and ANSWER in json.dumps(found), f"no relevant_tools at {path}")


@rule(
    "newer",
    "Its path takes `pattern` and `top_k`, which one release posts there",
)
def _takes_older_fields_there(backend: Backend) -> None:
    response = backend.post({"pattern": ASKED, "top_k": 1, "tools": TOOLS}, NEWER_PATH)
    demand(response.status_code == 200, f"status {response.status_code}")
    demand(answer_of(response).get("selected_names") == [ANSWER], "no selected_names")


@rule("newer", "`parameters` beside a name are read, a schema or a whole definition")
def _reads_parameters_there(backend: Backend) -> None:
    inner = schema("the galaxy whose red shift is measured")
    for parameters in (inner, SHAPES["chat"]("tool_17", inner)):
        tools = [*TOOLS, {"name": "tool_17", "parameters": parameters}]
        asked = {"query": "measure the red shift of a galaxy", "max_tools": 1, "tools": tools}
        answer = answer_of(backend.post(asked, NEWER_PATH))
        demand(answer.get("selected_names") == ["tool_17"], f"{answer.get('selected_names')}")


@rule("newer", "A refusal at that path has no status 2xx, and says `success: false` and an `error`")
def _says_there_that_it_failed(backend: Backend) -> None:
    refusal = backend.refuse({"query": ASKED, "tools": "all"}, (400, 422), NEWER_PATH)
    answer = answer_of(refusal)
    demand(answer.get("success") is False, "success is not false")
    demand(isinstance(answer.get("error"), str), "there is no error in words")
