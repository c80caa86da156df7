"""Known tools are recognised by their bytes before a body is decoded; no answer may show it."""

import json
from itertools import count

import pytest

from tests.support import SEARCH, TOOLS, Server, crowd, problem_of

_serial = count()

STATUS = {"invalid_json": 400, "invalid_request": 422, "empty_pattern": 422}

AROUND = [
    ("", ""),
    ('"always_keep":["send_email"],"top_k":3,', ""),
    ("", ',"always_keep":["send_email"],"top_k":3'),
    ("", ',"always_keep":["send_email"],"top_k":3,"unknown":[{"name":"a"}]'),
    ("", ',"unknown":{"deeper":[{"name":"a"}]},"always_keep":["send_email"],"top_k":3'),
    ("", ',"top_k":3,"always_keep":["send_email"],"filters":{"namespaces":[]},"x":[[{}],{}]'),
    ('"unknown":{"tools":[{"name":"a"}]},"top_k":3,', ',"always_keep":["send_email"]'),
    ('"unknown":"\\"tools\\":[{}]","top_k":3,', ',"always_keep":["send_email"]'),
]


def new_tools() -> list[dict[str, str]]:
    """Tools that nobody has sent before."""
    return [*TOOLS, {"name": f"tool_{next(_serial)}", "description": "Nothing in particular"}]


@pytest.mark.parametrize("around", AROUND)
def test_tools_are_found_wherever_they_stand(server: Server, around: tuple[str, str]):
    before, after = around
    expected = ["read_file", "search_code", "send_email"] if "keep" in before + after else None
    for many, padding in [(0, ""), (0, " "), (0, "\n\t"), (4_000, " ")]:
        tools = new_tools() + crowd(many, "trunk")
        array = padding.join(("[", json.dumps(tools)[1:-1], "]"))
        asked = '"pattern":"read a file","latency_budget_ms":60000'
        body = f'{{{before}{asked},"tools":{array}{after}}}'
        for _ in range(2):  # unknown, then known
            response = server.post(body.encode())
            assert response.status_code == 200, response.text
            names = response.json()["selected_names"]
            assert names[0] == "read_file"
            assert expected is None or (len(names) <= 3 and names[-1] == "send_email")
            assert response.headers["x-tool-selection"].startswith(f"{len(tools)}->")


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ('{"pattern":"x","tools":[TOOLS', "invalid_json", "body"),
        ('{"pattern":"x","tools":[TOOLS]', "invalid_json", "body"),
        ('{"pattern":"x","tools":[TOOLS,]}', "invalid_json", "body"),
        ('{"pattern":"x","tools":[TOOLS]]}', "invalid_json", "body"),
        ('{"pattern":"x","tools":[TOOLS],"x":[{]}', "invalid_json", "body"),
        (
            '{"pattern":"x","tools":[TOOLS,{"name":"a","tags":1}]}',
            "invalid_request",
            "tools[9].tags",
        ),
        ('{"pattern":"x","tools":[TOOLS,{"name":1}],"top_k":"x"}', "invalid_request", "top_k"),
        ('{"pattern":"x","tools":[TOOLS,{"name":"a","risk":1}],"y":[{}]}', "invalid_request", None),
        ('{"pattern":1,"tools":[TOOLS,{}]}', "invalid_request", "pattern"),
        ('{"pattern":" ","tools":[TOOLS,{}]}', "empty_pattern", "pattern"),
        ('{"pattern":"x","x":[{}],"tools":{"a":[TOOLS]}}', "invalid_request", None),
    ],
)
def test_errors_are_those_of_the_body_as_it_is(
    server: Server, body: str, code: str, path: str | None
):
    tools = json.dumps(new_tools())[1:-1]
    response = server.post(body.replace("TOOLS", tools).encode())
    problem = problem_of(response, STATUS[code], code)
    assert path is None or problem["errors"][0]["path"] == path


@pytest.mark.parametrize(
    "tools", ['[{"name":"a",}]', '[{"name":"a"}],"x":[{]', '[{"name":"a","tags":1}]']
)
def test_what_only_seems_to_be_the_tools_leaves_nothing_in_the_answer(server: Server, tools: str):
    older, newer = f'{{"pattern":"x","tools":{tools}}}', f'{{"query":"x","tools":{tools}}}'
    shapes = [set(server.post(body.encode()).json()) for body in (older, newer)]
    readable = tools.endswith(":1}]")
    assert ("success" in shapes[1]) == readable  # of what cannot be read, nobody knows the contract
    assert "success" not in shapes[0]


def test_the_contract_of_an_answer_is_that_of_the_whole_body(server: Server):
    tools = json.dumps(new_tools())
    body = f'{{"query":"x","tools":{tools},"query":null,"pattern":"read a file","junk":[{{}}]}}'
    assert set(server.post(body.encode()).json()) == {"selected_names"}


def test_other_calls_read_as_searches_do(server: Server):
    tools = json.dumps(new_tools())
    body = f'{{"tools":{tools},"names":["read_file"],"unknown":[{{"name":"a"}}]}}'
    path = SEARCH.replace("search", "resolve")
    (found,) = server.post(body.encode(), path).json()["results"]
    assert found["name"] == "read_file"
