"""An overlay over the wire: for whom it holds, for which lists, and how its file is followed."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.test_calls import FILTER
from tests.in_process import serving
from tests.server.test_rotation import events, read_again, replace
from tests.server.test_worker import below
from tests.support import TOOLS, Server, running, until
from toolscout.errors import ConfigurationError

ACME, OTHER, PART = (
    f"{name}-0123456789abcdef0123456789abcdef" for name in ("acme", "other", "part")
)
KEYS = f"acme={ACME},other={OTHER},acme={PART};max_risk=read_only"
OFFERED = [*TOOLS, {"name": "op_17", "description": "Executes operation 17"}]
PIANO = "piano tuning"
FOUND = '[[tool]]\nname = "op_17"\nsearch_text = "piano tuning"\n'
OF_ACME = FOUND + 'tenant = "acme"\n'


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def found(server: Server, key: str = ACME, pattern: str = PIANO, **fields: Any) -> list[str]:
    offered = None if "catalog" in fields else OFFERED
    return server.names(pattern, offered, headers=bearer(key), **fields)


def written(folder: Path, text: str) -> str:
    file = folder / "overlay.toml"
    file.write_text(text, "utf-8")
    return str(file)


def test_it_holds_for_the_filter_by_shared_words(tmp_path: Path):
    rows = (
        '[[tool]]\nname = "op_17"\nsearch_text = "piano tuning"\n'
        '[[tool]]\nname = "send_email"\npin = true\n[[tool]]\nname = "read_*"\nhide = true\n'
    )
    asked = {"query": "piano tuning, read a file", "min_tools": 1, "max_tools": 1}
    with serving(tmp_path, overlay=written(tmp_path, rows)) as server:
        digest = server.search(PIANO, OFFERED, explain=True).json()["catalog"]
        for tools in ({"tools": OFFERED}, {"catalog": digest}):
            answer = server.post(asked | tools, FILTER).json()
            assert answer["kept"] == ["send_email"]
            assert answer["deferred"][0] == "op_17"
            assert "read_file" not in answer["kept"] + answer["deferred"]


def test_a_hidden_tool_is_shown_as_one_that_is_unavailable(tmp_path: Path):
    rows = '[[tool]]\nname = "read_*"\nhide = true\n'
    with serving(tmp_path, overlay=written(tmp_path, rows)) as server:
        body = json.dumps({"tools": OFFERED}).encode()
        assert server.send("PUT", "/v1/catalogs/mine", body).is_success
        shown = server.get("/v1/catalogs/mine/tools?detail=brief").json()["tools"]
        hidden = [tool["name"] for tool in shown if tool.get("status") == "unavailable"]
        assert hidden == ["read_file"]


def test_it_holds_for_inline_named_and_registered_lists_of_its_tenant_alone(tmp_path: Path):
    with serving(tmp_path, api_keys=KEYS, overlay=written(tmp_path, OF_ACME)) as server:
        digests = {}
        for key, names in ((ACME, ["op_17"]), (OTHER, [])):
            answer = server.search(PIANO, OFFERED, headers=bearer(key)).json()
            assert answer["selected_names"] == names
            digests[key] = server.search(PIANO, OFFERED, explain=True, headers=bearer(key))
            digest = digests[key].json()["catalog"]
            assert found(server, key, catalog=digest) == names
            path = "/v1/catalogs/mine"
            body = json.dumps({"tools": OFFERED}).encode()
            assert server.send("PUT", path, body, bearer(key)).is_success
            assert found(server, key, catalog="mine") == names
            more = json.dumps({"upsert": [{"name": "op_18", "description": "Another"}]}).encode()
            assert server.send("PATCH", path, more, bearer(key)).is_success
            assert found(server, key, catalog="mine") == names
        assert digests[ACME].json()["catalog"] == digests[OTHER].json()["catalog"]


def test_a_changed_list_is_searched_by_the_words_as_a_new_one_is(tmp_path: Path):
    with serving(tmp_path, api_keys=KEYS, overlay=written(tmp_path, OF_ACME)) as server:
        found(server)
        for number in range(3):
            changed = [*OFFERED, {"name": f"more_{number}", "description": f"Number {number}"}]
            assert server.names(PIANO, changed, headers=bearer(ACME)) == ["op_17"]


def test_a_key_with_a_limit_does_not_see_what_the_overlay_calls_riskier(tmp_path: Path):
    rows = '[[tool]]\nname = "get_weather"\nrisk = "destructive"\n'
    with serving(tmp_path, api_keys=KEYS, overlay=written(tmp_path, rows)) as server:
        assert "get_weather" in found(server, ACME, "weather in a city")
        assert "get_weather" not in found(server, PART, "weather in a city")
        assert "read_file" in found(server, PART, "read a file")


def test_the_file_is_followed_and_a_broken_one_keeps_the_rows(tmp_path: Path):
    file = Path(written(tmp_path, "# no row yet"))
    environ = {"TOOLSCOUT_OVERLAY": str(file), "TOOLSCOUT_API_KEYS": KEYS}
    with running(tmp_path, **environ) as server:
        assert found(server) == found(server, PART) == []
        put = json.dumps({"tools": OFFERED}).encode()
        assert server.send("PUT", "/v1/catalogs/mine", put, bearer(ACME)).is_success

        replace(file, FOUND)  # seen without a signal
        until(lambda: found(server) == ["op_17"])
        until(lambda: found(server, catalog="mine") == ["op_17"])
        until(lambda: server.metric('toolscout_overlay_row_used{row="1"}') == 1)

        riskier = '[[tool]]\nname = "get_weather"\nrisk = "destructive"\n'
        unused = '[[tool]]\nname = "elsewhere"\npin = true\n'
        assert "get_weather" in found(server, PART, "weather")
        replace(file, FOUND + riskier + unused)
        read_again(server)
        until(lambda: "get_weather" not in found(server, PART, "weather"))
        until(lambda: server.metric('toolscout_overlay_row_used{row="2"}') == 1)
        assert server.metric('toolscout_overlay_row_used{row="3"}') == 0

        deep = "x = " + "[" * 5_000 + "]" * 5_000
        wrong = ('[[tool]]\nname = "op_17"\nhdie = true', "[[", " ", deep, f"x = {'9' * 5_000}")
        for text in wrong:
            replace(file, text)
            read_again(server)
        file.unlink()
        read_again(server)
        until(lambda: len(events(server, "overlay_kept")) == 6)
        assert found(server) == ["op_17"]
        kept = events(server, "overlay_kept")
        assert "line 3: Object contains unknown field `hdie`" in kept[0]["reason"]
        assert "there is no file" in kept[-1]["reason"]
        assert server.metric('toolscout_overlay_changes_total{result="refused"}') == len(kept) == 6

        replace(file, f"{FOUND}# the same rows")
        read_again(server)
        until(lambda: len(events(server, "overlay_changed")) == 3)
        assert server.metric('toolscout_overlay_row_used{row="1"}') == 1


def test_what_is_shown_has_another_entity_tag_with_other_rows(tmp_path: Path):
    file = Path(written(tmp_path, "# no row yet"))
    page = "/v1/catalogs/mine/tools"
    with running(tmp_path, TOOLSCOUT_OVERLAY=str(file)) as server:
        body = json.dumps({"tools": OFFERED}).encode()
        put = server.send("PUT", "/v1/catalogs/mine", body)
        before = server.get(page).headers
        assert before["etag"] == put.headers["etag"]
        replace(file, '[[tool]]\nname = "read_*"\nhide = true\n')
        read_again(server)
        until(lambda: server.get(page, **{"if-none-match": before["etag"]}).status_code == 200)
        after = server.get(page).headers
        assert after["x-catalog-digest"] == before["x-catalog-digest"]
        assert server.get(page, **{"if-none-match": after["etag"]}).status_code == 304
        changed = {"if-match": after["etag"]}
        assert server.send("PUT", "/v1/catalogs/mine", body, changed).is_success


def test_a_worker_that_is_replaced_has_the_rows_in_use(tmp_path: Path):
    file = Path(written(tmp_path, "# no row yet"))
    with running(tmp_path, TOOLSCOUT_OVERLAY=str(file), TOOLSCOUT_API_KEYS=KEYS) as server:
        replace(file, FOUND)
        read_again(server)
        until(lambda: bool(events(server, "overlay_changed")))
        replace(file, "broken")
        os.kill(below(server.process.pid)[-1], signal.SIGKILL)
        until(lambda: bool(events(server, "state")))
        assert found(server) == ["op_17"]


@pytest.mark.parametrize(
    ("text", "why"), [('[[tool]]\nname = "a"', "adds nothing"), ("\n", "blank")]
)
def test_a_service_does_not_start_with_a_broken_or_blank_file(tmp_path: Path, text: str, why: str):
    wrong = written(tmp_path, text)
    with pytest.raises(ConfigurationError, match=why), serving(tmp_path, overlay=wrong):
        pass


WORDS = st.sampled_from(["umbrella", "rain", "tickets", "mail", "city"])
ROWS = st.fixed_dictionaries(
    {"name": st.sampled_from(["op_17", "get_*", "*", "send_email"])},
    optional={
        "search_text": st.lists(WORDS, min_size=1).map(" ".join),
        "examples": st.lists(WORDS, min_size=1, max_size=2),
        "not_for": st.lists(WORDS, min_size=1, max_size=2),
        "namespace": st.just("moved"),
        "risk": st.sampled_from(["read_only", "destructive"]),
        "hide": st.just(True),
    },
).filter(lambda row: len(row) > 1)


def as_toml(row: dict[str, Any], tenant: str) -> str:
    fields = {**row, "tenant": tenant}
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join(["[[tool]]", *lines, ""])


ASKED = ("umbrella", "rain in the city", "send mail", "op_17", "tickets")


def answers(server: Server, key: str) -> list[Any]:
    """Return all that searches tell of the tools, but for times and ids."""
    told = []
    for pattern in ASKED:
        body = {"explain": True, "detail": "full", "headers": bearer(key)}
        answer = server.search(pattern, OFFERED, **body).json()
        told.append({field: answer[field] for field in ("matches", "outcome", "tools", "catalog")})
    return told


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Return the answers of a service without an overlay."""
    with serving(tmp_path_factory.mktemp("untouched"), api_keys=KEYS) as server:
        return answers(server, OTHER)


@settings(max_examples=12)
@given(rows=st.lists(ROWS, min_size=1, max_size=4))
def test_rows_of_a_tenant_change_nothing_for_another(
    rows: list[dict[str, Any]], untouched: list[Any], tmp_path_factory: pytest.TempPathFactory
):
    folder = tmp_path_factory.mktemp("rows")
    file = written(folder, "".join(as_toml(row, "acme") for row in rows))
    with serving(folder, api_keys=KEYS, overlay=file) as server:
        answers(server, ACME)  # what is compiled for this tenant may not reach the other
        assert answers(server, OTHER) == untouched
