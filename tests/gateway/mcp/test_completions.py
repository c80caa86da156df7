"""Arguments of prompts and of templates are completed by the servers that have these."""

import json
from collections.abc import Iterator

import mcp_types
import pytest
from mcp import MCPError

from tests.gateway.mcp.hosts import Host, inside, raw_server, stdio_server
from tests.support import until

TOOLS = [{"name": "plain", "inputSchema": {"type": "object"}}]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    servers = {
        "odd": raw_server(TOOLS, COMPLETES="1") | {"deny": ["*hidden*"]},
        "library": stdio_server("library"),
        "gone": {"command": "/no/such/program"},
    }
    with inside(tmp_path_factory.mktemp("completions"), servers) as started:
        until(lambda: "odd__plain" in started.names())
        yield started


def complete(
    office: Host, ref: mcp_types.PromptReference | mcp_types.ResourceTemplateReference
) -> mcp_types.Completion:
    argument = {"name": "book", "value": "mo"}
    context = {"shelf": "upper"}
    found: mcp_types.Completion = office.portal.call(
        lambda: office.client.complete(ref, argument, context)
    )
    return found


def prompt(name: str) -> mcp_types.PromptReference:
    return mcp_types.PromptReference(type="ref/prompt", name=name)


def template(uri: str) -> mcp_types.ResourceTemplateReference:
    return mcp_types.ResourceTemplateReference(type="ref/resource", uri=uri)


def test_completions_are_a_capability(office: Host):
    assert office.client.initialize_result.capabilities.completions is not None


@pytest.mark.parametrize(
    ("ref", "passed"),
    [
        (prompt("odd__sum__up"), {"name": "sum__up", "type": "ref/prompt"}),
        (
            template("toolscout://odd/pages://{book}"),
            {"uri": "pages://{book}", "type": "ref/resource"},
        ),
        (
            template("toolscout://ODD/pages://{book}"),
            {"uri": "pages://{book}", "type": "ref/resource"},
        ),
    ],
)
def test_a_server_completes_what_is_its_own_under_its_own_name(office: Host, ref, passed):
    found = complete(office, ref)
    assert found.total == 7
    assert json.loads(found.values[0]) == {
        "argument": {"name": "book", "value": "mo"},
        "context": {"arguments": {"shelf": "upper"}},
        "ref": passed,
    }


@pytest.mark.parametrize(
    "ref",
    [
        prompt("library__summarise"),
        template("toolscout://library/pages://{book}/{page}"),
        prompt("find_tool"),
        template("toolscout://tool/{name}"),
    ],
)
def test_where_nothing_is_completed_there_are_no_completions(office: Host, ref):
    assert complete(office, ref).values == []


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        (prompt("odd__hidden"), "Unknown prompt or resource template: 'odd__hidden'"),
        (prompt("sum_up"), "Unknown prompt or resource template"),
        (template("toolscout://odd/hidden://{book}"), "Unknown prompt or resource template"),
        (template("pages://{book}"), "Unknown prompt or resource template"),
        (prompt("gone__x"), "gone is unavailable: its command"),
    ],
)
def test_what_is_not_there_or_denied_is_not_completed(office: Host, ref, said: str):
    with pytest.raises(MCPError, match=said):
        complete(office, ref)
