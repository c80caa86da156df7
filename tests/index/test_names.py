"""Names are found in every form a model writes them, in sentences too."""

import pytest

from tests.support import compiled, select
from toolscout.common.spelling import list_forms, make_key
from toolscout.index.names import NameIndex


def mentioned(names: list[str], text: str, sure: bool = True) -> list[str]:
    """Which tools a text mentions, surely or less surely, when no word of it is rare."""
    catalog = compiled([{"name": name} for name in names])
    mentions = catalog.spellings.mentions(text, lambda word: False)
    return [catalog.names[mention.row] for mention in mentions if mention.sure == sure]


@pytest.mark.parametrize(
    "written", ["normal_cdf", "normalCdf", "NormalCDF", "normal-cdf", "normal cdf", "NORMAL_CDF"]
)
def test_spellings_share_a_key(written: str):
    assert make_key(written) == "normalcdf"


@pytest.mark.parametrize(
    ("name", "answers_to"),
    [
        ("create_issue", ["createissue"]),
        ("mcp__github__create_issue", ["mcpgithubcreateissue", "githubcreateissue", "createissue"]),
        ("stats.normal_cdf", ["statsnormalcdf", "normalcdf"]),
        ("server/tool:run", ["servertoolrun", "toolrun", "run"]),
        ("___", []),
    ],
)
def test_a_name_answers_with_and_without_its_prefixes(name: str, answers_to: list[str]):
    assert list(list_forms(name)) == answers_to


@pytest.mark.parametrize(
    "text",
    [
        "normal_cdf",
        "call normalCdf",
        "I want normal-cdf of this",
        "what does stats.normal_cdf do?",
        'the tool "normal_cdf", please',
        "run `normal_cdf` now",
        "use mcp__stats__normal_cdf",
        "normal_cdf(x=1)",
    ],
)
def test_a_name_is_seen_anywhere_in_a_query(text: str):
    assert mentioned(["add", "normal_cdf"], text) == ["normal_cdf"]


def test_the_words_of_a_name_in_prose_are_less_than_sure():
    index = NameIndex([[list_forms("normal_cdf")]])
    (found,) = index.mentions("normal cdf of a sample", lambda _: False)
    assert not found.sure
    (alone,) = index.mentions("normal cdf", lambda _: False)
    assert alone.sure


@pytest.mark.parametrize(
    "text", ["create_issue", "please createIssue", "github.create_issue", "create issue"]
)
def test_a_prefixed_tool_is_seen_by_its_bare_name(text: str):
    names = ["mcp__github__create_issue", "other"]
    assert mentioned(names, text) == ["mcp__github__create_issue"]


def test_the_longer_name_wins_where_names_overlap():
    names = ["create_issue", "create_issue_comment"]
    assert mentioned(names, "run create_issue_comment now") == ["create_issue_comment"]
    assert mentioned(names, "run create_issue now") == ["create_issue"]


def test_the_bare_tool_goes_before_a_prefixed_one_of_the_same_name():
    tools = [{"name": "aaa__create_issue"}, {"name": "create_issue"}, {"name": "zzz__create_issue"}]
    assert select(tools, "create_issue").names[0] == "create_issue"


def test_two_names_in_one_query_are_both_seen():
    assert set(mentioned(["read_file", "send_mail"], "read_file, then send_mail")) == {
        "read_file",
        "send_mail",
    }


def test_an_everyday_word_in_prose_is_no_sure_name():
    names, text = ["add", "list", "search"], "add the search results to my list"
    assert mentioned(names, text) == []
    assert sorted(mentioned(names, text, sure=False)) == names


@pytest.mark.parametrize(
    "text", ["search", "`search` the rest", "call search for me", "the search tool"]
)
def test_an_everyday_word_written_like_a_name_is_sure(text: str):
    assert mentioned(["add", "search"], text) == ["search"]


def test_an_everyday_name_is_never_cut_off():
    tools = [{"name": "search", "description": "Query an index"}]
    tools += [{"name": f"t{n}", "description": "search results added to lists"} for n in range(20)]
    assert "search" in select(tools, "add the search results to my list", top_k=3).names


def test_names_in_unspaced_scripts_are_seen():
    assert mentioned(["other", "天気予報"], "今日の天気予報を教えて") == ["天気予報"]


@pytest.mark.parametrize("text", ["", " ", "!!!", "→", "\u0000"])
def test_texts_without_words_mention_nothing(text: str):
    assert mentioned(["add"], text) == []


def test_a_number_is_part_of_a_spoken_name():
    names = [f"two_{number}_spin" for number in range(3)]
    for text in ("two 1 spin", "please call two 1 spin"):
        assert select([{"name": name} for name in names], text).names[0] == "two_1_spin"


# Where a written name begins and ends inside a sentence.


NAMES = tuple(
    (
        "create_issue create_issue_comment read file read_file list_label list_labels search_code "
        "get_thread github__create_gist search_issues"
    ).split()
)
TOOLS = [{"name": name, "description": f"Tool {number}"} for number, name in enumerate(NAMES)]


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("use `create_issue` comment the result", "create_issue"),
        ("first create_issue, comment later", "create_issue"),
        ("call create_issue. Comment nothing.", "create_issue"),
        ("list_label's colour", "list_label"),
        ("search code for issues (get_thread)", "get_thread"),
        ("search issues with github__create_gist now", "github__create_gist"),
        ("create issue comment please", "create_issue_comment"),
        ("create_issue_comment now", "create_issue_comment"),
        ("please read file now", "read_file"),
    ],
)
def test_names_end_where_they_are_written_to_end(pattern: str, first: str):
    assert select(TOOLS, pattern).names[0] == first


def test_quoted_words_are_names_of_their_own():
    assert select(TOOLS, "'read', 'file'", top_k=2).names == ["read", "file"]


@pytest.mark.parametrize("pins", [[], ["list_label"], ["list_label", "list_labels"]])
def test_pins_do_not_push_out_a_name(pins: list[str]):
    tools = [
        {"name": "search", "description": "Look through everything"},
        *(
            {"name": f"github_{n}", "description": f"Search issues about login in github {n}"}
            for n in range(200)
        ),
        *TOOLS,
    ]
    pattern = "do a search for issues about login in github"
    assert "search" in select(tools, pattern, top_k=5, always_keep=pins).names
