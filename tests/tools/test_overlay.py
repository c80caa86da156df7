"""The file of an overlay: which tools its rows are for, what they add, and what is wrong in it."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.contract.tools import Tool
from toolscout.errors import ConfigurationError
from toolscout.text.domains import load_bundled
from toolscout.tools.overlay import Adjustment, parse_overlay, read_overlay
from toolscout.tools.overlay_rows import MAX_FILE_BYTES

TAXONOMY = load_bundled()


def find(text: str, name: str, tenant: str = "acme") -> Adjustment | None:
    return parse_overlay(text, "overlay.toml").of(tenant).find(name)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[tool]]\nname = "a"\nseach_text = "b"', "line 3: Object contains unknown field"),
        ('\n\n[[tool]]\nname = "a"\npin = "yes"', "line 5: pin: Expected `bool`, got `str`"),
        ("[[tool]]\npin = true", "line 1: Object missing required field `name`"),
        ('[[tool]]\nname = ""\npin = true', "line 2: name: expected the name of a tool"),
        ('[[tool]]\nname = "a"', "line 1: adds nothing to these tools"),
        ('[[tool]]\nname = "a"\ntenant = "b"', "line 1: adds nothing to these tools"),
        (
            '[[tool]]\nname = "a"\npin = true\nhide = true',
            "line 1: pin and hide exclude each other",
        ),
        ('[[tool]]\nname = "a"\nrisk = "high"', "line 3: risk: Invalid enum value 'high'"),
        ('[[tool]]\nname = "a"\nexamples = [" "]', "line 3: examples: a request is blank"),
        (
            f'[[tool]]\nname = "a"\nnot_for = {["x"] * 17}',
            "line 3: not_for: at most 16 requests, got 17",
        ),
        (
            f'[[tool]]\nname = "a"\nsearch_text = "{"x" * 9_000}"',
            "line 3: search_text: at most 8,192 characters, got 9,000",
        ),
        ('[[tools]]\nname = "a"', "line 1: tools: expected [[tool]] tables only"),
        ('tool = "a"', "line 1: tool: expected [[tool]] tables only"),
        ('# rows\n[tool]\nname = "a"', "line 2: tool: expected [[tool]] tables only"),
        ('[[tool]]\nname = "a"\npin = true\n[name]\na = 1', "line 4: name: expected [[tool]]"),
        ('[[tool]]\nname = "a"\n[tool.pni]\nx = 1', "line 3: Object contains unknown field"),
        ('[[tool]]\nname = "a"\npni.x = 1', "line 3: Object contains unknown field"),
        ('"" = 3', "line 1: : expected [[tool]] tables only"),
        ('tool = [{ name = "a", pin = 1 }]', "row 1: pin: Expected `bool`"),
        ("x = " + "[" * 5_000 + "]" * 5_000, "nested too deeply"),
        (f"x = {'9' * 5_000}", "integer string conversion"),
        ('[[tool]]\nname = " a"\npin = true', "name: expected the name of a tool, without blanks"),
        ('[[tool]]\nname = "a"\ntenant = ""\npin = true', "tenant: expected a name"),
        ('[[tool]]\nname = "a"\nnamespace = " "', "namespace: expected a name"),
        ('[[tool]]\nname = "a"\nsearch_text = " "', "search_text: is blank"),
        ("[[tool]]\nname = a\n", "Invalid value (at line 2, column 8)"),
    ],
)
def test_a_wrong_file_says_which_line(text: str, problem: str):
    with pytest.raises(ConfigurationError) as refused:
        parse_overlay(text, "overlay.toml")
    assert refused.value.detail.startswith("overlay: overlay.toml: ")
    assert problem in refused.value.detail


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    long = tmp_path / "long.toml"
    long.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"# \xe9")
    blank = tmp_path / "blank.toml"
    blank.write_text("\n")
    for path in (tmp_path / "none.toml", tmp_path, long, latin, blank):
        with pytest.raises(ConfigurationError, match=path.name):
            read_overlay(path)


def test_rows_are_for_names_patterns_and_several_of_them():
    text = """
        [[tool]]
        name = ["jira_*", "create_i?sue", "a.b[1]"]
        namespace = "tracker"
    """
    for name in ("jira_", "jira_get", "create_issue", "a.b[1]"):
        assert find(text, name) is not None, name
    for name in ("Jira_get", "my_jira_get", "create_isue", "axb[1]", "a.b1"):
        assert find(text, name) is None, name


@given(st.lists(st.text("ab*?.[\\"), min_size=1, max_size=4), st.text("ab*?.[\\", max_size=6))
def test_a_pattern_matches_as_if_it_were_read_from_left_to_right(patterns: list[str], name: str):
    def matches(pattern: str, rest: str) -> bool:
        if not pattern:
            return not rest
        if pattern[0] == "*":
            return any(matches(pattern[1:], rest[at:]) for at in range(len(rest) + 1))
        is_alike = bool(rest) and pattern[0] in ("?", rest[0])
        return is_alike and matches(pattern[1:], rest[1:])

    written = [pattern for pattern in patterns if pattern]
    rows = "".join(f"[[tool]]\nname = '{pattern}'\npin = true\n" for pattern in written)
    found = find(rows, name)
    numbers = [at for at, pattern in enumerate(written, 1) if matches(pattern, name)]
    assert (list(found.numbers) if found else []) == numbers


def test_several_rows_for_a_tool_add_up_and_the_last_value_counts():
    found = find(
        """
        [[tool]]
        name = "get_*"
        search_text = "weather"
        namespace = "one"
        risk = "destructive"
        [[tool]]
        name = "get_it"
        search_text = "rain"
        examples = ["is it raining"]
        namespace = "two"
        risk = "read_only"
        """,
        "get_it",
    )
    assert found is not None
    row = found.row
    assert (row.search_text, row.examples) == ("weather rain", ("is it raining",))
    assert (row.namespace, row.risk, found.numbers) == ("two", "destructive", (1, 2))


def test_rows_of_a_tenant_hold_for_no_other():
    text = '[[tool]]\nname = "a"\ntenant = "acme"\npin = true'
    assert find(text, "a", "acme") is not None
    assert find(text, "a", "other") is None
    assert find(text, "a", "") is None


@pytest.mark.parametrize(
    ("name", "least", "risk"),
    [
        ("delete_user", "read_only", "destructive"),
        ("get_user", "write_remote", "write_remote"),
        ("get_user", "read_only", "read_only"),
    ],
)
def test_a_risk_is_raised_only(name: str, least: str, risk: str):
    found = find(f'[[tool]]\nname = "*"\nrisk = "{least}"', name)
    assert found is not None
    assert found.adjust(Tool(name), TAXONOMY).risk == risk


def test_rows_that_are_for_no_tool_are_told():
    rows = "".join(f'[[tool]]\nname = "{name}"\npin = true\n' for name in ("a*", "b", "c?"))
    unused = parse_overlay(rows, "overlay.toml").explain_unused(["abc", "c"])
    assert unused == ["row 2: no tool is called b", "row 3: no tool is called c?"]


@pytest.mark.parametrize("pattern", ["*_*_*_*_id", "*a" * 20 + "*b", "?*" * 20 + "b", "*_?_" * 9])
@pytest.mark.parametrize("name", ["x_id" + "_" * 1_000 + "z", "a" * 1_024, "_" * 1_024 + "id"])
def test_no_name_makes_a_pattern_try_all_places(pattern: str, name: str):
    rows = f"[[tool]]\nname = '{pattern}'\npin = true\n"
    began = time.thread_time()
    find(rows, name)
    assert time.thread_time() - began < 1.0  # trying all of them takes hours
