"""What a tool says about itself beside its text: given, or inferred from name and words."""

from typing import Any

import msgspec
import pytest

from toolscout.common.spelling import find_namespace
from toolscout.contract.tools import Tool
from toolscout.text.domains import load_bundled
from toolscout.tools.traits import Traits, read_traits


def traits(name: str, description: str = "", **fields: Any) -> Traits:
    body = {"name": name, "description": description, **fields}
    return read_traits(msgspec.json.decode(msgspec.json.encode(body), type=Tool), load_bundled())


@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("mcp__github__create_issue", "github"),
        ("github__create_issue", "github"),
        ("github.create_issue", "github"),
        ("mcp.github.create_issue", "github"),
        ("acme.git.create_issue", "acme.git"),
        ("server:read", "server"),
        ("read_file", ""),
        ("__read", ""),
        ("2.5", ""),
        ("天気.予報", "天気"),
    ],
)
def test_the_namespace_stands_before_the_name(name: str, namespace: str):
    assert find_namespace(name) == namespace
    assert traits(name).namespace == namespace


def test_what_is_given_goes_before_what_is_inferred():
    told = traits(
        "mcp__github__delete_branch",
        "Delete a branch of a git repository",
        namespace="forge",
        domain="code",
        risk="read_only",
        annotations={"destructiveHint": True},
    )
    assert (told.namespace, told.domain, told.risk) == ("forge", "code", "read_only")


@pytest.mark.parametrize(
    ("name", "description", "domain"),
    [
        ("merge_branch", "Merge a branch of a repository", "repo"),
        ("scale", "Scale a deployment of a kubernetes cluster", "infra"),
        ("run_query", "Query a table of the database", "data"),
        ("send_mail", "Send an e-mail message to a recipient", "comms"),
        ("merge", "Put two things together", ""),  # one word proves nothing
        ("latest_contest", "The latest contest result in the reprint", ""),  # no part of a word
        ("mail_table", "Message about a database, mail and table", ""),  # a tie
    ],
)
def test_two_telling_words_name_a_domain(name: str, description: str, domain: str):
    assert traits(name, description).domain == domain


def test_a_definition_that_is_not_json_says_nothing():
    tool = Tool("get_page", definition=msgspec.Raw(b"{nope"))
    assert read_traits(tool, load_bundled()).risk == "read_only"


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("toolbus.fs.edit_file", "code"),
        ("mcp.jira.create_ticket", "comms"),
        ("acp.monitor.check_health", "agents"),
        ("k8s.delete", "infra"),
        ("redis.get", "data"),
        ("bitbucket__approve", "repo"),
        ("search_issues", ""),
    ],
)
def test_the_domain_shown_is_that_of_the_server(name: str, domain: str):
    assert traits(name).shown_domain == domain


def test_a_declared_domain_is_shown_as_it_is():
    assert traits("k8s.delete", domain="games").shown_domain == "games"
