"""The scripted models of `make prompt-cost` call as definitions say, and refuse as providers do."""

import json

import pytest

from evals.prompt_cost.arguments import fill, find_schema
from evals.prompt_cost.models import Model, RefusedError
from evals.prompt_cost.thinking import THINKING

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "minLength": 6}, "text.."),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"enum": ["open", "closed"]}, "open"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": ["number", "null"]}, 1),
        ({"type": "boolean"}, True),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"$ref": "#/$defs/file"}, {"path": "text"}),
    ],
)
def test_required_fields_are_filled_with_values_that_fit(field, value):
    schema = {
        "type": "object",
        "properties": {"wanted": field, "optional": {"type": "string"}},
        "required": ["wanted"],
        "$defs": {"file": SCHEMA},
    }
    assert fill(schema) == {"wanted": value}


@pytest.mark.parametrize(
    "prompt",
    [
        [{"name": "read_file", "input_schema": SCHEMA}],
        [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}],
        [{"content": "found:\n" + json.dumps({"name": "read_file", "parameters": SCHEMA})}],
    ],
    ids=["a tool", "a function", "a line of a text"],
)
def test_a_definition_is_found_wherever_a_prompt_has_it(prompt):
    assert find_schema(prompt, "read_file") == SCHEMA
    assert find_schema(prompt, "write_file") is None


def test_a_call_defines_nothing():
    call = {"name": "read_file", "arguments": json.dumps({"path": "notes"})}
    assert find_schema([call], "read_file") is None


@pytest.mark.parametrize("interface", THINKING.values(), ids=THINKING)
@pytest.mark.parametrize("part", ["thinking", "signature", "type"])
def test_a_call_is_refused_without_the_thought_that_led_to_it(interface, part):
    model = Model(interface, len)
    model.want("read_file", "read a file")
    tools = [interface.tool("read_file", "Read a file", SCHEMA)]
    asked = [{"role": "user", "content": "read it"}]
    called = model.forward(interface.request(asked, tools))
    taken = interface.request([*asked, *interface.added(called)], tools)
    assert not interface.calls(model.forward(taken))
    changed = json.loads(json.dumps(taken))
    turn = next(one for one in changed["messages"] if one["role"] == "assistant")
    (turn.get("thinking_blocks") or turn["content"])[0][part] = "other"
    with pytest.raises(RefusedError, match="Expected `thinking`"):
        model.forward(changed)
