"""Keys that see a part of the tools: what they may not see is not named, suggested or counted."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.in_process import serving
from tests.support import PATIENCE_S, SEARCH, Server, problem_of
from toolscout.errors import ConfigurationError
from toolscout.server.calls import lookup
from toolscout.server.http.auth import Keyring
from toolscout.state.registry import Registry
from toolscout.state.store import StoreUnavailable

WHOLE, PART, READER = (f"{name}-0123456789abcdef0123456789abcdef" for name in "wpr")
KEYS = (
    f"acme={WHOLE}, acme={PART};tags=finance;max_risk=read_only, "
    f"acme={READER};only=get_invoice+read_file"
)
TOOLS = [
    {"name": "get_invoice", "description": "Read an invoice by its number", "tags": ["finance"]},
    {"name": "list_invoices", "description": "List all invoices", "tags": ["Finance"]},
    {"name": "delete_invoice", "description": "Delete an invoice", "tags": ["finance"]},
    {"name": "read_file", "description": "Read a file from the disk"},
    {"name": "invoice_secret", "description": "Secret of an invoice", "tags": ["legal"]},
]
SEEN = {"get_invoice", "list_invoices"}
HIDDEN = ("delete_invoice", "read_file", "invoice_secret")
BELOW = "/v1/tool-discovery/"


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service with keys of all tools and of parts, and a registered catalog."""
    with serving(tmp_path_factory.mktemp("parted"), api_keys=KEYS, mcp=True) as started:
        put = started.send(
            "PUT", "/v1/catalogs/desk", json.dumps({"tools": TOOLS}).encode(), WHOLE_
        )
        assert put.status_code == 201
        yield started


WHOLE_ = {"x-api-key": WHOLE}
PART_ = {"x-api-key": PART}
OFFERS: list[dict[str, Any]] = [{"tools": TOOLS}, {"catalog": "desk"}]


@pytest.mark.parametrize("offer", OFFERS, ids=["inline", "registered"])
@pytest.mark.parametrize("again", [1, 2])
def test_a_search_knows_only_the_part(parted: Server, offer, again):
    body = {"pattern": "invoice", "top_k": 10, "explain": True, "latency_budget_ms": 60_000}
    pins = ["read_file", "get_invoice"]
    body |= {"always_keep": pins, **offer}
    answer = parted.post(body, headers=PART_)
    found = answer.json()
    assert set(found["selected_names"]) == SEEN
    assert found["counts"]["unique"] == 2
    assert answer.headers["x-tool-selection"].startswith("2->2;")
    # Its own pin is named back, as one that nobody has is.
    assert "no tool has the name 'read_file'" in found["notes"][0]
    assert not any(name in answer.text for name in {*HIDDEN} - {*pins})
    whole = parted.post(body, headers=WHOLE_).json()
    assert {"delete_invoice", "invoice_secret"} < set(whole["selected_names"])
    digest = answer.headers["x-catalog-digest"]
    by_digest = {**body, "catalog": digest}
    by_digest.pop("tools", None)
    assert parted.post(by_digest, headers=PART_).json()["selected_names"] == found["selected_names"]


def test_a_part_of_a_changed_list_is_no_more_than_a_part(parted: Server):
    parted.post({"pattern": "invoice", "tools": TOOLS}, headers=PART_)
    new = [{"name": f"read_invoice_of_{tag}", "tags": [tag]} for tag in ("finance", "legal")]
    body = {"pattern": "invoice", "top_k": 10, "tools": [*TOOLS, *new]}
    names = parted.post(body, headers=PART_).json()["selected_names"]
    assert {*names} == {*SEEN, "read_invoice_of_finance"}


def test_a_tool_that_a_key_may_see_no_more_is_not_in_its_next_answer(
    parted: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lookup, "WAIT_S", PATIENCE_S)  # however busy the machine is
    asked = {"pattern": "read an invoice", "catalog": "till", "latency_budget_ms": 60_000}
    for tag, seen in (("finance", True), ("legal", False)):
        tools = [{**TOOLS[0], "tags": [tag]}, *TOOLS[3:]]
        body = json.dumps({"tools": tools}).encode()
        assert parted.send("PUT", "/v1/catalogs/till", body, WHOLE_).is_success
        for _ in range(2):
            names = parted.post(asked, headers=PART_).json()["selected_names"]
            assert ("get_invoice" in names) == seen


def test_the_digest_of_all_tools_is_unknown_to_a_part(parted: Server):
    body = {"pattern": "invoice", "tools": TOOLS, "latency_budget_ms": 60_000}
    digest = parted.post(body, headers=WHOLE_).headers["x-catalog-digest"]
    part = parted.post({"pattern": "invoice", "catalog": digest}, headers=PART_)
    problem_of(part, 404, "catalog_unknown")


@pytest.mark.parametrize("offer", OFFERS, ids=["inline", "registered"])
@pytest.mark.parametrize(
    ("call", "asked"),
    [
        ("search:batch", {"patterns": ["delete an invoice", "read a file"], "explain": True}),
        ("search", {"pattern": "delete_invoice"}),
        ("search", {"pattern": ".*invoice.*", "explain": True}),
        ("search", {"pattern": "read", "ranker": "okapi", "session": {"expanded": ["read_file"]}}),
        ("resolve", {"names": ["delete_invoce", "readfile", "invoice"]}),
        ("filter", {"query": "delete an invoice, read a file"}),
        ("hot", {"message": "delete an invoice, read a file", "tier0": ["read_file"]}),
    ],
)
def test_no_call_names_what_is_hidden(parted: Server, offer, call, asked):
    answer = parted.post({**asked, **offer}, BELOW + call, PART_)
    assert answer.status_code == 200, answer.text
    typed = json.dumps(asked)  # `resolve` answers with the names that it was given
    hidden = [name for name in HIDDEN if call != "resolve" or name not in typed]
    assert not any(f'"{name}"' in answer.text for name in hidden)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("", 200),
        ("/tools?detail=full", 200),
        ("/tools:complete?prefix=", 200),
        ("/index", 200),
        ("/overview", 200),
        ("/tools/get_invoice", 200),
        ("/tools/delete_invoice", 404),
        ("/tools/invoice_secrt", 404),
    ],
)
def test_the_pages_of_a_catalog_show_the_part(parted: Server, path, status):
    page = parted.get(f"/v1/catalogs/desk{path}", **PART_)
    assert page.status_code == status
    assert not any(name in page.text for name in HIDDEN)
    if not path:
        assert page.json()["tools"] == 2
        assert parted.get("/v1/catalogs/desk", **WHOLE_).json()["tools"] == len(TOOLS)


def test_only_these_names(parted: Server):
    body = {"pattern": "invoice or file", "tools": TOOLS, "top_k": 10}
    names = parted.post(body, headers={"x-api-key": READER}).json()["selected_names"]
    assert set(names) == {"get_invoice", "read_file"}
    body["filters"] = {"only": ["read_file", "invoice_secret"]}
    assert parted.post(body, headers=WHOLE_).json()["selected_names"]
    names = parted.post(body, headers={"x-api-key": READER}).json()["selected_names"]
    assert names == ["read_file"]


def test_experience_is_the_tenants_and_names_nothing_hidden(parted: Server):
    for turn in range(6):
        event = {"pattern": "bin the bill", "tool": "delete_invoice", "success": True}
        event |= {"turn": f"turn-{turn}"}
        reported = parted.post(event, BELOW + "feedback", WHOLE_)
        assert reported.status_code == 202
    body = {"pattern": "bin the bill", "catalog": "desk", "latency_budget_ms": 60_000}
    answer = parted.post(body, headers=PART_)
    assert not any(name in answer.text for name in HIDDEN)
    report = {"pattern": "bin the bill", "tool": "get_invoice", "success": True, "turn": "own"}
    assert parted.post(report, BELOW + "feedback", PART_).status_code == 202


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/v1/catalogs/other"),
        ("DELETE", "/v1/catalogs/desk"),
        ("GET", "/v1/stats"),
        ("GET", "/v1/learning"),
        ("GET", BELOW + "insights?pattern=invoice"),
    ],
)
def test_what_shows_or_changes_all_is_forbidden(parted: Server, method, path):
    problem_of(parted.send(method, path, b'{"tools": []}', PART_), 403, "forbidden")


def test_mcp_shows_the_part(parted: Server):
    call = {"name": "search_tools", "arguments": {"query": "delete an invoice", "catalog": "desk"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {**PART_, "accept": "application/json, text/event-stream"}
    answer = parted.post(body, "/mcp", headers)
    assert answer.status_code == 200, answer.text
    assert not any(f"{name}" in answer.text for name in HIDDEN)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("tgs=finance", "there is no option tgs"),
        ("max_risk=none", "Invalid enum value 'none'"),
        ("tags=", "tags has no value"),
        ("tags=finance;scopes=search+write", "one with filters can search and report"),
    ],
)
def test_a_wrong_option_is_an_error_that_says_which(options, said):
    with pytest.raises(ConfigurationError, match=said) as raised:
        Keyring(f"acme={PART};{options}")
    assert PART not in str(raised.value)


def test_the_same_list_of_two_keys_is_told_apart(parted: Server):
    """Each key has its own first search, so that the other's fast path could be taken."""
    body = {"pattern": "a secret", "tools": TOOLS, "latency_budget_ms": 60_000}
    for _ in range(2):
        assert "invoice_secret" in parted.post(body, SEARCH, WHOLE_).text
        assert "invoice_secret" not in parted.post(body, SEARCH, PART_).text


def test_an_allow_list_without_a_name_is_refused(parted: Server):
    body = {"pattern": "invoice", "tools": TOOLS, "filters": {"only": []}}
    problem_of(parted.post(body, headers=WHOLE_), 422, "invalid_request")


def test_the_prompt_about_catalogs_counts_and_names_the_part(parted: Server):
    body = {"status": {"delete_invoice": "unavailable", "list_invoices": "unavailable"}}
    patched = parted.send("PATCH", "/v1/catalogs/desk", json.dumps(body).encode(), WHOLE_)
    assert patched.status_code == 200
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "prompts/get",
        "params": {"name": "backend_status"},
    }
    accept = {"accept": "application/json, text/event-stream"}
    whole = parted.post(call, "/mcp", {**WHOLE_, **accept}).text
    assert "5 tools, 2 unavailable (delete_invoice, list_invoices)" in whole
    part = parted.post(call, "/mcp", {**PART_, **accept}).text
    assert "2 tools, 1 unavailable (list_invoices)" in part


def test_a_report_counts_only_for_a_tool_that_the_key_sees(parted: Server):
    search = {"pattern": "file it away", "tools": TOOLS, "latency_budget_ms": 60_000}
    digest = parted.post(search, headers=PART_).headers["x-catalog-digest"]
    event = {"pattern": "file it away", "success": True, "catalog": digest}
    counted = []
    for turn, tool in enumerate(("get_invoice", "invoice_secret", "nobody_has_it")):
        report = {**event, "tool": tool, "turn": f"of-part-{turn}"}
        counted.append(parted.post(report, BELOW + "feedback", PART_).json()["accepted"])
    assert counted == [1, 0, 0]
    learned = parted.get("/v1/learning", **WHOLE_).json()["tools"]
    seen = next(tool for tool in learned if tool["name"] == "get_invoice")
    assert seen.get("content")
    chain = {"intent": "x", "chain": ["invoice_secret"], "success": True}
    problem_of(parted.post(chain, BELOW + "chains", PART_), 403, "forbidden")


def test_a_name_is_read_once_and_holds_while_the_store_is_gone(parted: Server, monkeypatch):
    reads: list[str] = []
    reading, recording, is_gone = Registry.tools, Registry.record, False

    async def tools(*arguments: Any) -> bytes | None:
        reads.append(arguments[1].catalog)
        return await reading(*arguments)

    async def record(*arguments: Any) -> Any:
        if is_gone:
            raise StoreUnavailable("gone")
        return await recording(*arguments)

    monkeypatch.setattr(Registry, "tools", tools)
    monkeypatch.setattr(Registry, "record", record)
    put = {"tools": [{**tool, "source": "once"} for tool in TOOLS]}
    assert parted.send("PUT", "/v1/catalogs/once", json.dumps(put).encode(), WHOLE_).is_success
    body = {"pattern": "invoice", "catalog": "once", "latency_budget_ms": 60_000}
    for _ in range(4):
        assert set(parted.post(body, headers=PART_).json()["selected_names"]) == SEEN
    assert reads == ["once"]
    is_gone = True
    assert parted.post(body, headers=PART_).status_code == 200
