"""Tools of every shape mean the same to the client, the engine and the service."""

import dataclasses
from typing import Any

import mcp.types
import msgspec
import pydantic
import pytest

from tests.catalogs import in_shape
from toolscout import Engine
from toolscout.client import InvalidTool, Selector
from toolscout.client.offer import Offer
from toolscout.errors import InvalidRequest
from toolscout.tools.conversion import read_tools
from toolscout.tools.documents import find_input_schema, read_tool
from toolscout.tools.shapes import read_texts, schema_of

NAME, ABOUT = "forecast", "Rain or shine"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "Town"}}}


@dataclasses.dataclass
class DataTool:
    name: str = NAME
    description: str = ABOUT
    input_schema: dict[str, Any] = dataclasses.field(default_factory=lambda: dict(SCHEMA))


class StructTool(msgspec.Struct):
    name: str = NAME
    description: str = ABOUT
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: dict(SCHEMA))


class ModelTool(pydantic.BaseModel):
    name: str = NAME
    description: str = ABOUT
    inputSchema: dict[str, Any] = dict(SCHEMA)  # noqa: N815


class Arguments(pydantic.BaseModel):
    city: str = pydantic.Field(description="Town")


class AgentsTool:
    """As the OpenAI Agents SDK has them: a schema beside what is called."""

    name, description, params_json_schema = NAME, ABOUT, SCHEMA
    on_invoke_tool = print


class LangChainTool:
    name, description, args_schema = NAME, ABOUT, Arguments
    func = print


class PydanticAiTool:
    function = print

    @property
    def name(self) -> str:
        return NAME

    description = ABOUT

    @property
    def tool_def(self) -> Any:
        return type("Definition", (), {"parameters_json_schema": SCHEMA})()


PROVIDERS = ("openai_chat", "openai_responses", "anthropic", "mcp", "gemini", "bedrock")
CASES = {shape: in_shape(shape, NAME, ABOUT, SCHEMA) for shape in PROVIDERS} | {
    "tool": {"tool": {"name": NAME, "description": ABOUT, "parameters": SCHEMA}},
    "declared": {"functionDeclarations": [in_shape("gemini", NAME, ABOUT, SCHEMA)]},
    "contract": {"name": NAME, "description": ABOUT, "parameters": SCHEMA},
    "own definition": {"name": NAME, "description": ABOUT, "inputSchema": SCHEMA, "definition": {}},
    "dataclass": DataTool(),
    "struct": StructTool(),
    "pydantic": ModelTool(),
    "mcp sdk": mcp.types.Tool.model_validate(
        {"name": NAME, "description": ABOUT, "inputSchema": SCHEMA}
    ),
    "openai agents": AgentsTool(),
    "langchain": LangChainTool(),
    "pydantic-ai": PydanticAiTool(),
}


@pytest.mark.parametrize("case", CASES)
def test_a_tool_means_the_same_to_client_and_engine(case: str):
    sent = CASES[case]
    (tool,) = read_tools([sent])
    assert (tool.name, tool.description or read_tool(tool).plain_description) == (NAME, ABOUT)
    offer = Offer([sent])
    assert (offer.names, offer.unnamed) == ((NAME,), ())
    assert read_texts(offer.by_name[NAME]) == (NAME, ABOUT)
    engine = Engine([sent, {"name": "other", "description": "Anything else"}])
    result = engine.search("which town", ranker="bm25", detail="full")
    assert result.names == [NAME]
    shown = result.tools[0].input_schema
    schemas: list[Any] = [find_input_schema(tool), schema_of(offer.by_name[NAME]), shown]
    for schema in schemas:
        assert schema["properties"]["city"]["description"] == "Town"


@pytest.mark.parametrize("case", ["openai agents", "langchain", "pydantic-ai"])
def test_what_a_framework_calls_is_never_written(case: str):
    (tool,) = read_tools([CASES[case]])
    assert b"print" not in msgspec.json.encode(tool)


NAMELESS = [
    {"type": "web_search"},
    {"type": "mcp", "server_label": "x", "server_url": "https://x"},
    {"googleSearch": {}},
    {"cachePoint": {"type": "default"}},
]


@pytest.mark.parametrize("builtin", NAMELESS)
def test_built_ins_without_a_name_are_passed_over(builtin: dict[str, Any]):
    assert [tool.name for tool in read_tools([builtin, CASES["mcp"], builtin])] == [NAME]
    assert Offer([builtin, CASES["mcp"]]).names == (NAME,)


@pytest.mark.parametrize(
    "lost",
    [
        {},
        {"description": "Rain"},
        {"type": "function", "function": {"description": "Rain"}},
        {"type": "web_search", "parameters": {}},
        {"type": "object", "properties": {}},
        {"googleSearch": 5},
    ],
)
def test_a_tool_that_lost_its_name_is_an_error(lost: dict[str, Any]):
    with pytest.raises(InvalidRequest, match=r"tools\[1\]"):
        read_tools([CASES["mcp"], lost])


def test_a_list_of_built_ins_alone_says_what_a_tool_is():
    with pytest.raises(InvalidRequest, match="Anthropic, MCP, Gemini, Bedrock"):
        read_tools(NAMELESS)
    assert read_tools([]) == []


def test_a_name_of_its_own_goes_before_the_wrapped_one():
    tool = {"name": "outer", "function": {"name": "inner", "description": "Rain"}}
    assert [found.name for found in read_tools([tool])] == ["outer"]
    assert read_texts(tool) == ("outer", "Rain")


@pytest.mark.parametrize("odd", [5, "name", None, DataTool, [CASES["mcp"]]])
def test_what_is_no_tool_is_refused_but_passes_a_selector(odd: Any):
    with pytest.raises(InvalidTool, match=r"tools\[0\]: expected"):
        read_tools([odd])
    with Selector(None) as selector:
        assert selector.select("x", [odd]).tools == [odd]


def test_what_json_cannot_write_is_refused():
    with pytest.raises(InvalidRequest, match=r"tools\[0\]: cannot be written as JSON"):
        read_tools([{"name": "a", "input_schema": {"default": object()}}])


LEVELS = ("read_only", "write_local", "write_remote", "destructive")


@pytest.mark.parametrize("inside", LEVELS)
@pytest.mark.parametrize("beside", LEVELS)
def test_of_two_risks_of_a_declared_function_the_higher_counts(inside: str, beside: str):
    function = {"name": "a", "risk": inside, "status": "available", "tags": ["own"]}
    entry = {"risk": beside, "status": "unavailable", "tags": ["of all"]}
    (tool,) = read_tools([{"functionDeclarations": [function], **entry}])
    assert tool.risk == max(inside, beside, key=LEVELS.index)
    assert (tool.status, tool.tags) == ("unavailable", ("own",))


@pytest.mark.parametrize("field", ["definition", "parameters", "annotations"])
@pytest.mark.parametrize("value", [5, "text", [1], True])
def test_a_definition_that_is_no_object_is_refused(field: str, value: Any):
    with pytest.raises(InvalidTool, match=rf"tools\[0\]\.{field}: expected an object"):
        read_tools([{"name": "a", field: value}])


def test_titles_and_enumerated_values_are_searched():
    schema = {"properties": {"unit": {"enum": ["kelvin", "celsius", 5]}}}
    tools = [
        {"name": "t1", "title": "Barometer", "inputSchema": schema},
        {"name": "t2", "inputSchema": {}, "annotations": {"title": "Hygrometer"}},
        {"name": "t3", "description": "Anything else", "inputSchema": {"title": "Kelvin"}},
    ]
    engine = Engine(tools)
    for word, name in [("barometer", "t1"), ("hygrometer", "t2"), ("kelvin", "t1")]:
        assert engine.search(word, ranker="bm25").names == [name]
