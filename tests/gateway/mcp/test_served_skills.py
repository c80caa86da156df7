"""Skills that servers offer over MCP reach hosts that ask for them, with URIs to read them by."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.gateway.mcp.hosts import inside, listening, raw_server, stdio_server, write
from tests.gateway.mcp.test_http import ACCEPTS
from tests.support import until
from toolscout.gateway.mcp import gateway

pytestmark = pytest.mark.integration

URI = "toolscout://office/skill://acme/git-workflow/SKILL.md"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SEES = "sees-0123456789abcdefghijklmnopqrstuvw"
BLIND = "blind-0123456789abcdefghijklmnopqrstuv"


def ask(url: str, method: str, key: str = SEES, **params: Any) -> dict[str, Any]:
    """Return the answer to a request of the protocol that the extension is written for."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": META}}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "X-API-Key": key}
    if method == "resources/read":
        headers["Mcp-Name"] = params["uri"]
    answer: dict[str, Any] = httpx2.post(url, json=asked, headers=ACCEPTS | headers).json()
    return answer


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield a gateway before a server with two skills, one of which is denied, and one without."""
    folder = tmp_path_factory.mktemp("skills")
    servers = {
        "office": stdio_server("skilled", deny=["skill://daily/*"]),
        "plain": raw_server([]),
    }
    (folder / "keys").write_text(f"{SEES};namespaces=office\n{BLIND};namespaces=plain\n", "utf-8")
    command = ["-m", "toolscout", "mcp", "--config", str(write(folder, servers))]
    command += ["--keys", str(folder / "keys"), "--http", "127.0.0.1:PORT"]
    with listening(folder, *command) as (served, _):
        until(lambda: ask(served, "skills/list")["result"]["skills"])
        yield served


def test_the_gateway_declares_the_extension(url: str):
    capabilities = ask(url, "server/discover")["result"]["capabilities"]
    assert capabilities["extensions"] == {"io.modelcontextprotocol/skills": {}}


def test_entries_are_those_of_the_server_under_uris_of_the_gateway(url: str):
    result = ask(url, "skills/list")["result"]
    (skill,) = result["skills"]
    assert skill["uri"] == URI
    assert skill["frontmatter"]["license"] == "MIT"
    assert result["cacheScope"] == "private"
    assert ask(url, "skills/get", uri=URI)["result"] == {
        **{key: one for key, one in result.items() if key != "skills"},
        "skill": skill,
    }


def test_a_file_is_read_by_the_uri_of_its_entry_and_has_its_digest(url: str):
    (file,) = ask(url, "skills/get", uri=URI)["result"]["skill"]["resources"]
    read = ask(url, "resources/read", uri=file["uri"])["result"]["contents"][0]
    assert (read["uri"], len(read["text"])) == (file["uri"], file["size"])
    assert file["digest"] == f"sha256:{hashlib.sha256(read['text'].encode()).hexdigest()}"


@pytest.mark.parametrize(
    "uri",
    [
        "toolscout://office/skill://none/SKILL.md",
        "toolscout://office/skill://daily/SKILL.md",
        "toolscout://nowhere/skill://acme/git-workflow/SKILL.md",
        "skill://acme/git-workflow/SKILL.md",
    ],
)
def test_an_unknown_or_denied_skill_is_refused_with_the_code_of_the_extension(url: str, uri: str):
    assert ask(url, "skills/get", uri=uri)["error"]["code"] == -32602


def test_a_key_that_does_not_see_the_server_sees_no_skill_of_it(url: str):
    assert ask(url, "skills/list", BLIND)["result"]["skills"] == []
    assert ask(url, "skills/get", BLIND, uri=URI)["error"]["message"].startswith("Unknown skill")


def test_a_faulty_skill_is_left_out_and_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gateway, "FOLLOW_S", 0.05)
    office = stdio_server("skilled")
    with inside(tmp_path, {"office": office}) as host:
        until(lambda: "left out" in host.stderr)
        tool = {"name": "work", "inputSchema": {"type": "object"}}
        write(tmp_path, {"office": office, "other": raw_server([tool])})
        until(lambda: host.names() == {"other__work"})
        (told,) = (line for line in host.stderr.splitlines() if "left out" in line)
    faults = "2 skills that cannot be read: skill://odd/SKILL.md (resources"
    assert told.startswith(f"WARNING office: left out: {faults}")
    assert "#3 (" in told
