"""Every provider's tool shape is read: names, descriptions and properties, nested ones too."""

from tests.support import TOOLS, Server


def test_deeply_nested_properties_are_found(server: Server):
    schema: dict = {"properties": {"kernel": {"description": "innermost"}}}
    for level in range(40):
        schema = {"properties": {f"level{level}": schema}}
    tool = {"name": "nest", "definition": {"input_schema": schema}}
    assert server.names("innermost kernel", [*TOOLS, tool], ranker="bm25") == ["nest"]


def test_a_very_long_alias_is_no_error(server: Server):
    tool = {"name": "odd_one", "definition": {"name": "word " * 70_000}}
    assert server.names("odd_one", [*TOOLS, tool])[0] == "odd_one"
    assert server.names("read a file", [*TOOLS, tool])[0] == "read_file"
