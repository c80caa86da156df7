"""A name that no tool has is answered with the names it may have meant."""

from tests.contract.test_catalogs import TOOL, put, url
from tests.support import TOOLS, Server, problem_of


def test_a_misspelt_tool_is_not_found_with_those_it_may_have_meant(server: Server):
    put(server, "spelled", [*TOOLS, TOOL])
    body = problem_of(server.get(url("spelled", "/tools/red_file")), 404, "not_found")
    assert body["suggestions"] == ["read_file"]
    body = problem_of(server.get(url("spelled", "/tools/zeppelin")), 404, "not_found")
    assert "suggestions" not in body


def test_a_name_that_several_tools_answer_to_is_not_found_with_all_of_them(server: Server):
    put(server, "twins", [{"name": "git__push"}, {"name": "hg__push"}])
    body = problem_of(server.get(url("twins", "/tools/push")), 404, "not_found")
    assert body["suggestions"] == ["git__push", "hg__push"]


def test_long_suggestions_keep_an_error_short(server: Server):
    put(server, "long", [{"name": f"{'é' * 300}_{number}"} for number in range(5)])
    body = problem_of(server.get(url("long", f"/tools/{'é' * 300}_x")), 404, "not_found")
    assert 1 <= len(body["suggestions"]) < 5
