"""OAuth towards a server: a person logs in once, tokens are renewed, and a lost one is said."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urljoin

import httpx2
import pytest

from evals import programs
from tests.gateway.mcp.hosts import (
    SERVERS,
    Host,
    cache_in,
    host,
    text_of,
    write,
)
from tests.integration.mcp.environment import VENV, installed
from tests.support import PATIENCE_S, answers, environment, free_port, until

pytestmark = pytest.mark.integration

HERE = Path(__file__).parent
TOKEN_S = 3
NEEDED = "needs login: toolscout mcp --config FILE --login diary"


class Diary:
    """A server of whom an authorization server says who may read it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = free_port(), free_port()
        self.issuer = f"http://127.0.0.1:{self.ports[0]}/op"
        self.servers = {
            "diary": {"url": f"http://127.0.0.1:{self.ports[1]}/mcp", "auth": "oauth"},
        }

    @property
    def authorizations(self) -> str:
        """Return what the authorization server has granted or refused, a line each."""
        return (self.folder / "authorizations").read_text("utf-8")

    @property
    def tokens(self) -> Path:
        """Return the file with the tokens."""
        (file,) = (self.folder / "state" / "toolscout" / "mcp").glob("*.json")
        return file

    def forget_tokens(self) -> None:
        """Remove the file, as if nobody had ever logged in."""
        for file in (self.folder / "state").rglob("*.json"):
            file.unlink()

    def kept(self) -> dict[str, str]:
        """Return the tokens that are kept."""
        (kept,) = json.loads(self.tokens.read_text("utf-8"))["mcp-oauth-token"].values()
        return dict(kept)

    def revoke(self) -> None:
        """Revoke the refresh token, as its owner would at the authorization server."""
        content = json.loads(self.tokens.read_text("utf-8"))
        (client,) = content["mcp-oauth-client-info"].values()
        revoked = {"token": self.kept()["refresh_token"], "client_id": client["client_id"]}
        httpx2.post(f"{self.issuer}/token/revocation", data=revoked).raise_for_status()

    def log_in(self, act: Callable[[str, subprocess.Popen[str]], None] | None = None) -> str:
        """Log in by the command, with the forms of the authorization server; return its output."""
        command = ["-m", "toolscout", "mcp", "--login", "diary", "--config"]
        with subprocess.Popen(
            [sys.executable, *command, str(write(self.folder, self.servers))],
            env=environment(**cache_in(self.folder)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=listen_to_interrupts,  # no thread holds a lock for it
        ) as login:
            ending = threading.Timer(PATIENCE_S, login.kill)
            ending.start()
            assert login.stdout is not None
            lines = []
            for line in login.stdout:
                lines.append(line)
                if line.startswith(self.issuer):
                    back = httpx2.URL(httpx2.URL(line.strip()).params["redirect_uri"])
                    until(lambda: answers(back.port or 80))  # noqa: B023  # it is shown earlier
                    if act is None:
                        fill_in(line.strip())
                    else:
                        act(line.strip(), login)
            ending.cancel()
        return "".join(lines)


def listen_to_interrupts() -> None:
    """Let a process be interrupted, also where a shell runs all of this in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def fill_in(address: str) -> None:
    """Log in and consent, as a browser would."""
    with httpx2.Client(follow_redirects=True) as browser:
        page = browser.get(address)
        while "/interaction/" in str(page.url):
            form = re.search(r'<form[^>]*action="([^"]+)"', page.text)
            assert form is not None, page.text
            fields = re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text)
            person = {"login": "ishmael", "password": "x"} if 'name="login"' in page.text else {}
            page = browser.post(urljoin(str(page.url), form[1]), data=dict(fields) | person)
        assert page.status_code == 200, page.text


def refuse(address: str) -> None:
    """Come back from the authorization server with a refusal, as who cancels does."""
    asked = httpx2.URL(address).params
    answer = {"error": "access_denied", "state": asked["state"], "iss": "x"}
    httpx2.get(asked["redirect_uri"], params=answer)


@contextmanager
def running(log: Path, port: int, *command: str) -> Iterator[None]:
    """Run a server until it is left."""
    with programs.running(command, lambda: answers(port), log, signal.SIGKILL):
        yield


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Diary]:
    installed()
    made = Diary(tmp_path_factory.mktemp("oauth"))
    authorizer, server = map(str, made.ports)
    node = ["node", str(HERE / "oidc.mjs"), str(VENV / "node"), authorizer, str(TOKEN_S)]
    guarded = [sys.executable, str(SERVERS / "guarded.py"), server, made.issuer]
    with (
        running(made.folder / "authorizations", made.ports[0], *node),
        running(made.folder / "guarded", made.ports[1], *guarded),
    ):
        yield made


def who(office: Host) -> str:
    return text_of(office.call("diary__whose_diary"))


def test_without_a_login_the_gateway_says_which_command_helps(diary: Diary):
    diary.forget_tokens()
    with host(diary.folder, diary.servers) as office:
        answer = office.ask("search_tools", query="whose diary is this")
        assert answer["unavailable"] == {"diary": NEEDED}
        until(lambda: f"diary: unavailable: {NEEDED}" in office.stderr)
    assert "registered" not in diary.authorizations  # a gateway that runs registers nothing


def test_a_login_keeps_tokens_that_the_gateway_uses_and_renews(diary: Diary):
    assert diary.log_in().endswith("diary: logged in\n")
    file = diary.tokens
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    first = diary.kept()
    with host(diary.folder, diary.servers) as office:
        until(lambda: "diary__whose_diary" in office.names())
        assert who(office) == "ishmael"
        until(lambda: who(office) == "ishmael" and diary.kept() != first)
        assert "refresh_token" in diary.authorizations
        renewed = diary.kept()
        assert file.stat().st_mode & 0o777 == 0o600
        secrets = {
            one[name] for one in (first, renewed) for name in ("access_token", "refresh_token")
        }
        assert not [one for one in secrets if one in office.stderr]


def test_a_login_that_is_stopped_or_refused_leaves_the_last_one(diary: Diary):
    if not list(diary.folder.glob("state/**/*.json")):
        diary.log_in()
    before = diary.tokens.read_bytes()
    stopped = diary.log_in(lambda _, login: login.send_signal(signal.SIGINT))
    assert stopped.endswith("toolscout: login: stopped before it was done\n")
    refused = diary.log_in(lambda address, _: refuse(address))
    assert "diary: no login: Access was denied by the authorization server." in refused
    assert "Traceback" not in stopped + refused
    assert diary.tokens.read_bytes() == before


def test_a_token_that_ran_out_while_nothing_ran_is_renewed(diary: Diary):
    if not list(diary.folder.glob("state/**/*.json")):
        diary.log_in()
    before = diary.kept()
    until(lambda: not is_fresh(diary))
    with host(diary.folder, diary.servers) as office:
        until(lambda: "diary__whose_diary" in office.names())
        assert who(office) == "ishmael"
    assert diary.kept() != before


def test_a_revoked_token_needs_a_login_and_the_gateway_takes_the_new_one(diary: Diary):
    diary.log_in()
    with host(diary.folder, diary.servers) as office:
        until(lambda: "diary__whose_diary" in office.names())
        assert who(office) == "ishmael"
        diary.revoke()
        until(lambda: NEEDED in who(office))
        assert office.ask("search_tools", query="whose diary")["unavailable"] == {"diary": NEEDED}
        assert diary.log_in().endswith("diary: logged in\n")
        until(lambda: who(office) == "ishmael")
    assert "Traceback" not in office.stderr


def test_gateways_that_share_tokens_do_not_spend_each_others(diary: Diary):
    """Each host starts a gateway of its own, and a refresh token can be used once."""
    diary.log_in()
    with ExitStack() as stack, ThreadPoolExecutor() as threads:
        offices = [stack.enter_context(host(diary.folder, diary.servers)) for _ in range(4)]
        for office in offices:
            until(lambda: "diary__whose_diary" in office.names())  # noqa: B023
        for _ in range(8 * TOKEN_S):
            assert set(threads.map(who, offices)) == {"ishmael"}
            time.sleep(0.5)


def is_fresh(diary: Diary) -> bool:
    url = diary.servers["diary"]["url"]
    headers = {"Authorization": f"Bearer {diary.kept()['access_token']}"}
    return httpx2.post(url, json={}, headers=headers).status_code != 401
