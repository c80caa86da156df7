"""`toolscout proxy`: any program with another base URL gets the whole flow."""

from collections.abc import Iterator
from contextlib import closing

import httpx2
import openai
import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.gateway.proxies import proxy
from tests.support import Process, toolscout, until
from tests.turns.agents import Agent, model, upstream
from tests.turns.shapes import BY_NAME

__all__ = ["model", "upstream"]  # fixtures, found by their names

ABOUT = {f"tool_{number}": f"Does the thing of number {number}" for number in range(30)}
ABOUT |= {"send_email": "Send an email to somebody"}
KEY = "sk-very-secret"
OPENAI = BY_NAME["openai"]


@pytest.fixture
def service() -> Iterator[Peer]:
    with peer(lambda exchange: exchange.select("send_email")) as started:
        yield started


@pytest.fixture
def running(upstream: Peer, service: Peer) -> Iterator[Process]:
    with proxy(f"{upstream.url}/v1", selector=service.url) as started:
        yield started


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize(
    ("interface", "base"),
    [("openai", ""), ("openai", "/v1"), ("openai-responses", ""), ("anthropic", "")],
)
def test_an_sdk_with_another_base_url_calls_what_was_found(
    running, model, upstream, interface, base, streams
):
    plain, url = httpx2.HTTPTransport(), running.url + base
    with closing(Agent(interface, url, plain, ABOUT, streams=streams, key=KEY)) as agent:
        assert agent.ask("please write to somebody") == ["send_email"]
    assert not model.refused
    first = upstream.requests[0]
    assert first.path.partition("?")[0] in ("/v1/chat/completions", "/v1/responses", "/v1/messages")
    assert KEY in first.headers.get("authorization", first.headers.get("x-api-key"))


@pytest.mark.parametrize("learn", ["on", "off"])
def test_calls_are_reported_to_the_service_unless_that_is_off(upstream, learn):
    reported: list[str] = []

    def script(exchange: Exchange) -> None:
        if not exchange.path.endswith("/feedback"):
            exchange.select("send_email")
            return
        reported.extend(event["tool"] for event in exchange.json["events"])
        exchange.answer(b'{"accepted": 1}', status=202)

    tools = [OPENAI.tool(name, text) for name, text in ABOUT.items()]
    question = {"role": "user", "content": "please write to somebody"}
    with (
        peer(script, takes_feedback=True) as service,
        proxy(f"{upstream.url}/v1", "--learn", learn, selector=service.url) as running,
        openai.OpenAI(api_key=KEY, base_url=running.url) as client,
    ):
        asked = client.chat.completions.create(model="m", messages=[question], tools=tools)
        calling = asked.choices[0].message
        call, *_ = calling.tool_calls
        result = {"role": "tool", "tool_call_id": call.id, "content": "sent"}
        told = [question, calling.to_dict(), result]
        client.chat.completions.create(model="m", messages=told, tools=tools)
        if learn == "on":
            until(lambda: bool(reported))
        running.log()
    assert reported == (["send_email"] if learn == "on" else [])


def test_other_interfaces_pass_status_headers_and_bytes():
    def script(exchange: Exchange) -> None:
        exchange.answer(b"\x00\x01" * 50_000, 418, [("X-Own", "2"), ("Content-Type", "audio/wav")])

    with peer(script) as upstream, proxy(upstream.url) as running:
        response = httpx2.post(f"{running.url}/audio", files={"file": b"x" * 3_000_000})
        assert (response.status_code, response.headers["x-own"]) == (418, "2")
        assert response.content == b"\x00\x01" * 50_000
        assert b"x" * 3_000_000 in upstream.requests[0].body
        assert httpx2.get(f"{running.url}/models").status_code == 418
        assert upstream.requests[1].body == b""
        assert "content-length" not in upstream.requests[1].headers


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_may_say_how_long_one_would_be(status):
    def script(exchange: Exchange) -> None:
        head = f"HTTP/1.1 {status} Scripted\r\nContent-Length: 10\r\nETag: x\r\n\r\n"
        exchange.send(head.encode())

    with peer(script) as upstream, proxy(upstream.url) as running:
        with httpx2.Client() as client:
            answers = [client.get(f"{running.url}/models") for _ in range(2)]
        assert [(one.status_code, one.headers["etag"]) for one in answers] == [(status, "x")] * 2
        assert "Traceback" not in running.log()


def test_keys_and_questions_are_not_in_the_log(upstream, service):
    tools = [{"name": name, "description": text} for name, text in ABOUT.items()]
    body = {
        "contents": [{"role": "user", "parts": [{"text": "a private question"}]}],
        "tools": [{"functionDeclarations": tools}],
    }
    with proxy(upstream.url, selector=service.url) as running:
        url = f"{running.url}/v1beta/models/gemini:generateContent?key={KEY}"
        httpx2.post(url, json=body, headers={"Authorization": f"Bearer {KEY}"})
        log = running.log()
    assert "deferred" in log
    assert KEY not in log
    assert "private" not in log


def test_a_provider_that_is_gone_is_a_502_that_says_so():
    with proxy("http://127.0.0.1:9/v1") as running:
        response = httpx2.post(f"{running.url}/chat/completions", json={"messages": []})
        assert response.status_code == 502
        assert "the provider cannot be reached" in response.json()["error"]["message"]
        assert "cannot be reached" in running.log()


def test_a_caller_that_goes_away_ends_the_request_to_the_provider():
    broken: list[bool] = []

    def script(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        try:
            while not exchange.stopping.wait(0.02):
                exchange.send(b": nothing yet\n\n")
        except OSError:
            broken.append(True)
            raise

    with peer(script) as upstream, proxy(upstream.url) as running:
        with httpx2.stream("POST", f"{running.url}/events", json={}) as response:
            next(response.iter_raw())
        until(lambda: bool(broken))


def test_an_answer_that_the_provider_breaks_off_is_broken_off_too():
    def script(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        exchange.close()

    with peer(script) as upstream, proxy(upstream.url) as running:
        with pytest.raises(httpx2.RemoteProtocolError):
            httpx2.post(f"{running.url}/events", json={})
        log = running.log()
    assert "the provider broke its answer off (RemoteProtocolError)" in log
    assert "Traceback" not in log
    assert "ERROR" not in log


def test_its_own_health_needs_no_provider_and_sigterm_is_no_failure():
    with proxy("http://127.0.0.1:9") as running:
        assert httpx2.get(f"{running.url}/healthz").json() == {"status": "ok"}
        running.log()
        assert running.process.returncode == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--upstream", "api.openai.com"], "upstream: expected an http(s) URL, got"),
        (["--upstream", "http://[::1"], "upstream: expected an http(s) URL, got '(malformed)'"),
        (["--upstream", "http://x:99999"], "upstream: expected an http(s) URL, got"),
        (
            ["--upstream", "http://x", "--selector", "http://x", "--port", "99999"],
            "cannot listen at 127.0.0.1:99999: a port is at most 65535",
        ),
        (
            ["--upstream", "http://127.0.0.1:9", "--selector", "127.0.0.1:8080"],
            "selector: expected an http:// or https:// URL",
        ),
    ],
)
def test_a_wrong_address_is_an_error_that_says_which(flags: list[str], said: str):
    done = toolscout("proxy", *flags)
    assert done.returncode == 2
    assert said in done.stderr


def test_headers_of_one_connection_are_not_passed_on():
    with peer(lambda exchange: exchange.answer(b"{}")) as upstream, proxy(upstream.url) as running:
        headers = {"Connection": "close, X-Hop", "X-Hop": "1", "X-Own": "2"}
        httpx2.get(f"{running.url}/models", headers=headers)
        assert "x-hop" not in upstream.requests[0].headers
        assert upstream.requests[0].headers["x-own"] == "2"
