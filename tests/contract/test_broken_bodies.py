"""Broken bodies get a 4xx problem document, and the server lives on."""

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import GATEWAY, SEARCH, TOOLS, Server, problem_of
from toolscout.common.json_errors import locate
from toolscout.server.openapi.document import make_document

VALID = json.dumps({"pattern": "read a file", "top_k": 2, "tools": TOOLS[:3]}).encode()
DEEP = 5_000


@pytest.fixture(autouse=True)
def still_alive(server: Server) -> Iterator[None]:
    """Whatever a test has sent, the next caller is served."""
    yield
    assert server.names("read a file", top_k=1) == ["read_file"]


def refused(server: Server, body: bytes, headers: dict[str, str] | None = None) -> None:
    for path in (SEARCH, GATEWAY):
        response = server.post(body, path, headers)
        assert 400 <= response.status_code < 500, (body[:200], response.text)
        problem_of(response, response.status_code, response.json()["code"])


@given(cut=st.integers(0, len(VALID) - 1))
def test_truncated(server: Server, cut: int):
    problem_of(server.post(VALID[:cut]), 400, "invalid_json")


@pytest.mark.parametrize("tail", [b"x", b"}", b"{}", b"\x00", b",", VALID])
def test_trailing_bytes(server: Server, tail: bytes):
    problem_of(server.post(VALID + tail), 400, "invalid_json")


@pytest.mark.parametrize(
    "frame",
    [
        b"%s",
        b'{"pattern":%s,"tools":[]}',
        b'{"pattern":"x","tools":%s}',
        b'{"pattern":"x","tools":[%s]}',
        b'{"pattern":"x","tools":[],"unheard_of":%s}',
        b'{"pattern":"x","tools":[{"name":"a","definition":{"d":%s}}]}',
        b'{"pattern":"x","tools":[{"name":"a","unheard_of":%s}]}',
        b'{"pattern":"x","tools":[{"name":"a","parameters":{"p":%s}}]}',
    ],
)
def test_five_thousand_deep(server: Server, frame: bytes):
    for opening, closing in [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"tools":', b"}]")]:
        for closed in [True, False]:
            inner = opening * DEEP + (b"1" + closing * DEEP if closed else b"")
            refused(server, frame.replace(b"%s", inner))


def test_a_description_that_is_deep_json_is_only_text(server: Server):
    tools = [{"name": "deep_one", "description": '{"a":' * DEEP + "1" + "}" * DEEP}]
    assert server.names("deep_one", tools) == ["deep_one"]


@pytest.mark.parametrize("body", [b"", b" ", b"\n\t", b"nul", b"{'a': 1}", b"<xml/>", b"a=b&c=d"])
def test_no_json_at_all(server: Server, body: bytes):
    problem_of(server.post(body), 400, "invalid_json")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b'{"pattern": "read', "(line 1, column 18)"),
        (b'{"pattern": "read",\n "tools": [},', "(line 2, column 12)"),
        (b'{"pattern": "\xc3\xa9" x', "(line 1, column 17)"),
        (b'{"pattern": "\xe9"}', "not valid UTF-8 (line 1, column 14)"),
        ('{"pattern": "x"}'.encode("utf-16"), "it is UTF-16, not UTF-8"),
        ('{"pattern": "x"}'.encode("utf-8-sig"), "begins with a byte order mark"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(server: Server, body: bytes, said: str):
    problem = problem_of(server.post(body), 400, "invalid_json")
    assert problem["errors"][0]["message"].endswith(said) or said in problem["detail"]


@pytest.mark.parametrize("body", [b"null", b"true", b"1", b'"text"', b"[]", b"[{}]", b"{}"])
def test_json_of_another_kind(server: Server, body: bytes):
    problem_of(server.post(body), 422, "invalid_request")


WRONG = [None, True, 0, 2.5, "text", [], ["text"], [1], {}, {"a": 1}]
TAKES: dict[str, list[object]] = {
    "pattern": ["text"],
    "query": [],
    "top_k": [None],
    "max_tools": [],
    "always_keep": [None, [], ["text"]],
    "tools": [[], ["text"], [1]],
    "ranker": [None],
    "explain": [None, True],
    "latency_budget_ms": [None],
}


@pytest.mark.parametrize("field", list(TAKES))
def test_wrong_types_of_fields(server: Server, field: str):
    for value in WRONG:
        body = json.loads(VALID) | {field: value}
        null_is_absent = value is None and field in ("query", "max_tools")
        taken = any(value is v or (value == v and type(value) is type(v)) for v in TAKES[field])
        response = server.post(body)
        if taken or null_is_absent:
            assert response.status_code == 200, response.text
        else:
            problem_of(response, 422, "invalid_request")


NO_TOOLS = [None, 5, "name", [], ["name"], {}, {"name": 5}, {"name": ["a"]}]
NO_TOOLS += [{"name": "a", "description": 5}, {"name": "a", "description": {"text": "x"}}]
NO_TOOLS += [{"name": "a", "definition": "text"}, {"name": "a", "definition": [1]}]


@pytest.mark.parametrize("tool", NO_TOOLS, ids=repr)
def test_what_is_no_tool_is_skipped_and_named(server: Server, tool: object):
    """One ill tool of a client must not take the others from a proxy's search."""
    body = {"pattern": "find fine things", "tools": [{"name": "fine"}, tool], "explain": True}
    for path in (SEARCH, GATEWAY):
        answer = server.post(body, path)
        assert answer.status_code == 200, answer.text
        assert answer.json()["selected_names"] == ["fine"]
        assert answer.json()["counts"]["skipped"] == 1
        assert answer.json()["notes"][0].startswith("skipped: tools[1]")
    again = server.post(body).json()  # by the bytes that are known now
    assert (again["counts"]["skipped"], again["notes"]) == (1, answer.json()["notes"])
    refused = server.client.put("/v1/catalogs/ill", json={"tools": body["tools"]})
    problem = problem_of(refused, 422, "invalid_request")
    assert problem["errors"][0]["path"].startswith("tools[1]")


def test_a_list_without_any_tool_has_nothing_to_select(server: Server):
    body = {"pattern": "x", "tools": [*NO_TOOLS[:8], {"googleSearch": {}}] * 3, "explain": True}
    answer = server.post(body).json()
    assert (answer["selected_names"], answer["counts"]["skipped"]) == ([], 27)
    assert "tools[2] (expected an object, got str)" in answer["notes"][0]
    assert "tools[8] (a built-in without a name)" in answer["notes"][0]
    assert answer["notes"][0].endswith("and 16 more")


@pytest.mark.parametrize("field", [b"top_k", b"max_tools", b"latency_budget_ms", b"explain"])
def test_numbers_that_are_none(server: Server, field: bytes):
    for number in [b"NaN", b"-Infinity", b"Infinity", b"1e999", b"9" * 5_000]:
        for frame in [b'{"pattern":"x","tools":[],"%s":NUMBER}', b'{"pattern":NUMBER,"tools":[]}']:
            refused(server, frame.replace(b"%s", field).replace(b"NUMBER", number))


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"01", b"1.", b"+1", b"0x1", b"undefined"])
def test_numbers_that_are_none_inside_a_definition(server: Server, value: bytes):
    body = b'{"pattern":"x","tools":[{"name":"a","definition":{"default":%s}}]}' % value
    refused(server, body)


def test_huge_numbers_inside_a_definition_are_no_fault_of_the_server(server: Server):
    for value in (b"1e999", b"-1e999", b"9" * 5_000, b"1e-999"):
        body = b'{"pattern":"x","tools":[{"name":"a","definition":{"default":%s}}]}' % value
        response = server.post(body)
        assert response.status_code in (200, 400, 422), response.text


FRAMES = [
    b'{"pattern":"%s","tools":[]}',
    b'{"pattern":"x","tools":[{"name":"%s"}]}',
    b'{"pattern":"x","tools":[{"name":"a","description":"%s"}]}',
    b'{"pattern":"x","tools":[{"name":"a","definition":{"description":"%s"}}]}',
    b'{"pattern":"x","tools":[{"name":"a","definition":{"%s":1}}]}',
    b'{"pattern":"x","tools":[{"name":"a","parameters":{"name":"%s"}}]}',
    b'{"pattern":"x","tools":[{"name":"a","annotations":{"title":"%s"}}]}',
    b'{"pattern":"x","tools":[{"name":"a"}],"always_keep":["%s"]}',
    b'{"pattern":"x","catalog":"%s"}',
]


@pytest.mark.parametrize("frame", FRAMES)
def test_lone_surrogates_and_broken_escapes(server: Server, frame: bytes):
    for text in [
        rb"\ud800",
        rb"\udc00",
        rb"x\ud83dx",
        rb"\ud800\ud800",
        rb"\udc00\ud800",
        rb"\u12",
        rb"\x",
    ]:
        unread = b"annotations" in frame  # kept as it came, never decoded
        response = server.post(frame.replace(b"%s", text))
        assert (
            response.status_code == 200
            if unread and response.is_success
            else (400 <= response.status_code < 500)
        )


@pytest.mark.parametrize("frame", FRAMES)
def test_bytes_that_are_no_utf8(server: Server, frame: bytes):
    for text in [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x00"]:
        response = server.post(frame.replace(b"%s", text))
        if b"annotations" in frame and response.is_success:
            return
        assert 400 <= response.status_code < 500, response.text
        problem_of(response, response.status_code, response.json()["code"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
def test_other_encodings(server: Server, encoding: str):
    refused(server, VALID.decode().encode(encoding))


@given(body=st.binary(max_size=200))
def test_random_bytes(server: Server, body: bytes):
    refused(server, body)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = [*TAKES, "catalog", "filters", "session", "unheard_of"]


@given(body=st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5), raw=json_values)
def test_random_json(server: Server, body: dict, raw: object):
    for value in (body, raw, json.loads(VALID) | body):
        sent = json.dumps(value).encode("utf-8", "surrogatepass")
        response = server.post(sent)
        if response.status_code != 200:
            assert 400 <= response.status_code < 500, (sent, response.text)
            problem_of(response, response.status_code, response.json()["code"])


@given(
    tool=st.dictionaries(
        st.sampled_from(["name", "description", "definition", "parameters", "tags", "x"]),
        json_values,
        max_size=4,
    )
)
def test_random_tools(server: Server, tool: dict):
    response = server.search("x", [tool | {"name": "a"}, tool])
    assert response.status_code == 200 or 400 <= response.status_code < 500, response.text


@pytest.mark.parametrize(
    ("tool", "field"),
    [
        (b'{"name":"a","parameters":{"d":1e999}}', "parameters"),
        (b'{"name":"a","definition":null,"parameters":{"d":1e999}}', "parameters"),
        (b'{"name":"a","definition":{"name":"a"},"parameters":{"d":1e999}}', "parameters"),
        (b'{"name":"a","definition":{"d":1e999},"parameters":{}}', "definition"),
    ],
)
def test_the_field_that_no_parser_takes_is_named(server: Server, tool: bytes, field: str):
    response = server.post(b'{"pattern":"x","tools":[' + tool + b"]}")
    problem = problem_of(response, 400, "invalid_json")
    assert problem["errors"][0]["path"] == f"tools[0].{field}"


def bodies() -> list[Any]:
    """Return each call that takes a body, with the example of its description."""
    found = []
    for path, item in make_document()["paths"].items():
        for method, operation in item.items():
            if "requestBody" in operation:
                content = operation["requestBody"]["content"]["application/json"]
                body = json.dumps(content["example"], ensure_ascii=False).encode()
                where = path.replace("{id}", "broken").replace("{name}", "broken")
                found.append(pytest.param(method.upper(), where, body, id=f"{method} {path}"))
    return found


NO_UTF8 = (b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80")
"""A stray byte, a cut sequence, half a character, one beyond the last, and one that is too long."""


@pytest.mark.parametrize(("method", "path", "body"), bodies())
@given(data=st.data(), bad=st.sampled_from(NO_UTF8))
def test_a_byte_that_is_no_utf8_is_no_json_wherever_it_stands(
    server: Server, method: str, path: str, body: bytes, data: st.DataObject, bad: bytes
):
    at = data.draw(st.integers(0, len(body)))
    response = server.send(method, path, body[:at] + bad + body[at:])
    problem_of(response, 400, "invalid_json")


@pytest.mark.parametrize("name", [b"\xff", b"caf\xe9", b"\xed\xa0\x80"])
@pytest.mark.parametrize(("method", "path", "body"), bodies())
def test_a_name_of_an_unknown_field_that_is_no_utf8_is_no_json(
    server: Server, method: str, path: str, body: bytes, name: bytes
):
    extended = b'{"' + name + b'": 1, ' + body[1:]
    problem_of(server.send(method, path, extended), 400, "invalid_json")


@pytest.mark.parametrize(("method", "path", "body"), bodies())
@given(data=st.data())
def test_changed_bytes_are_never_an_error_of_the_service(
    server: Server, method: str, path: str, body: bytes, data: st.DataObject
):
    changed = bytearray(body)
    for at in data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=4)):
        changed[at] = data.draw(st.integers(0, 255))
    assert server.send(method, path, bytes(changed)).status_code < 500


@given(data=st.data(), bad=st.sampled_from(NO_UTF8))
def test_tools_that_are_known_do_not_hide_a_byte_that_is_no_utf8(
    server: Server, data: st.DataObject, bad: bytes
):
    assert server.post(VALID).is_success
    at = data.draw(st.integers(0, len(VALID)))
    problem_of(server.post(VALID[:at] + bad + VALID[at:]), 400, "invalid_json")


def test_to_place_a_fault_behind_many_lines_takes_no_memory_for_each():
    lines = b"\n" * 1_000_000
    tracemalloc.start()
    try:
        assert locate(lines + b"  x", len(lines) + 2) == (1_000_001, 3)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000  # the bytes themselves, added above
    finally:
        tracemalloc.stop()
