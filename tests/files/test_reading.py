"""Tools as people have them: dicts of any provider, and files that hold lists of them."""

import json
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.catalogs import in_shape
from toolscout.errors import InvalidJson, InvalidRequest
from toolscout.files.reading import STDIN, read_file
from toolscout.tools.conversion import read_tools

SCHEMA = {"properties": {"city": {"type": "string"}}}


def written(folder: Path, content: object) -> Path:
    path = folder / "tools.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
def test_one_gemini_entry_holds_several(key: str):
    entry = {key: [in_shape("gemini", n, "x", SCHEMA) for n in ("one", "two")]}
    assert [tool.name for tool in read_tools([entry])] == ["one", "two"]


TWO = [{"name": "one", "inputSchema": SCHEMA}, {"name": "two", "description": None}]


@pytest.mark.parametrize(
    "content",
    [
        TWO,
        {"tools": TWO},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": TWO, "nextCursor": None}},
        {"pattern": "x", "top_k": 5, "tools": TWO},
        {"model": "m", "messages": [], "tools": TWO},
        {"toolConfig": {"tools": [{"toolSpec": tool} for tool in TWO]}},
        {"tools": [{"functionDeclarations": TWO}]},
    ],
)
def test_files_of_every_kind(tmp_path: Path, content: object):
    assert [tool.name for tool in read_file(written(tmp_path, content))] == ["one", "two"]


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "name: yaml"])
def test_files_that_are_no_json_say_so(tmp_path: Path, content: str):
    path = written(tmp_path, content)
    with pytest.raises(InvalidJson, match=r"tools\.json"):
        read_file(path)


@pytest.mark.parametrize(
    "content",
    ["{}", "5", '"x"', '{"tools": 5}', "[5]", "[{}]", '[{"name": 5}]', "[]", '{"tools": []}'],
)
def test_files_without_tools_say_so(tmp_path: Path, content: str):
    path = written(tmp_path, content)
    with pytest.raises(InvalidRequest, match=r"tools\.json"):
        read_file(path)


def test_what_is_no_tool_is_skipped_with_a_warning(tmp_path: Path, caplog):
    path = written(tmp_path, [*TWO, None, {"name": 5}, {"type": "web_search"}])
    assert [tool.name for tool in read_file(path)] == ["one", "two"]
    for place in ("tools[2] (", "tools[3].name (", "tools[4] ("):
        assert place in caplog.text


@pytest.mark.parametrize(
    "content",
    [
        "\n".join(json.dumps(tool) for tool in TWO),
        "\n\n".join(json.dumps(tool) for tool in TWO) + "\n",
        {"one": {"inputSchema": SCHEMA}, "two": {"description": "second"}},
        {"tools": {"one": {"description": "first"}, "two": {"parameters": SCHEMA}}},
    ],
    ids=["lines", "lines with blanks", "by name", "by name within an object"],
)
def test_lines_and_objects_of_tools_are_read(tmp_path: Path, content: object):
    assert [tool.name for tool in read_file(written(tmp_path, content))] == ["one", "two"]


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ({"kind": "discovery#restDescription"}, "npx api-spec-converter"),
        ({"info": {"schema": "https://schema.getpostman.com/v2.1"}, "item": []}, "Postman"),
        ({"$schema": "https://x/2025-09-29/server.schema.json"}, "mcpServers in mcp.json"),
        ({"name": "a", "skills": [], "capabilities": {}}, "card of an agent"),
        ({"asyncapi": "3.0.0"}, "AsyncAPI"),
        ({"mcpServers": {"git": {"command": "git-mcp"}}}, "tools.json --list > tools.json"),
    ],
)
def test_a_file_of_another_kind_is_named_with_what_to_do(tmp_path: Path, content, advice: str):
    with pytest.raises(InvalidRequest, match=f"tools\\.json: .*{advice}"):
        read_file(written(tmp_path, content))


def test_a_single_tool_is_a_list_of_one(tmp_path: Path):
    path = written(tmp_path, {"name": "one", "description": "first"})
    assert [tool.name for tool in read_file(path)] == ["one"]


def test_a_line_that_is_no_tool_is_told_by_its_number(tmp_path: Path):
    lines = [json.dumps(TWO[0]), "", json.dumps(TWO[1]), "{bad"]
    with pytest.raises(InvalidJson, match="line 4"):
        read_file(written(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize(
    "text",
    ["info: {}\nopenapi: 3\npaths: {/a: {get: {}}}", '"openapi": "3.0"\npaths: {/a: {get: {}}}'],
)
def test_yaml_is_known_wherever_its_version_stands(tmp_path: Path, text: str):
    assert [tool.name for tool in read_file(written(tmp_path, text))] == ["get_a"]


def test_yaml_from_a_pipe_is_known_by_how_it_begins(capsys, monkeypatch):
    document = b"# An API\nopenapi: 3.0.3\npaths: {/a: {get: {operationId: list_all}}}\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(document)))
    assert [tool.name for tool in read_file(STDIN)] == ["list_all"]


def test_a_missing_file_is_an_os_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "nowhere.json")


def test_a_byte_order_mark_is_passed_over_and_no_column(tmp_path: Path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TWO), "utf-8-sig")
    assert [tool.name for tool in read_file(path)] == ["one", "two"]
    path.write_text("[5,}", "utf-8-sig")
    with pytest.raises(InvalidJson, match=r"tools\.json:1:4: not valid JSON"):
        read_file(path)


def test_utf16_is_refused(tmp_path: Path):
    path = tmp_path / "tools.json"
    path.write_bytes(b"\xff\xfe" + json.dumps(TWO).encode("utf-16-le"))
    with pytest.raises(InvalidJson):
        read_file(path)


def test_a_byte_that_is_not_utf8_is_said_with_its_place(tmp_path: Path):
    path = tmp_path / "tools.json"
    path.write_bytes('[\n{"name": "écrire_caf'.encode() + b'\xe9"}]')
    with pytest.raises(InvalidJson, match=r"tools\.json:2:21: not UTF-8: byte 0xe9"):
        read_file(path)
