"""Requests with pictures, and others that are too large to be searched."""

import json
from base64 import b64encode
from codecs import BOM_UTF8
from collections.abc import Callable

import pytest

from tests.client.upstream import peer
from tests.turns.asking import QUESTION, TOOLS, Post, ask, listen, service
from toolscout.turns.drivers import transport
from toolscout.turns.drivers.written import MAX_SEARCHED_BYTES

__all__ = ["service"]  # a fixture, found by its name

PICTURE = b64encode(bytes(range(256)) * 8_000).decode()
"""Of 2 MB."""

WRITTEN = {
    "plain": lambda url: json.dumps(url),
    "escaped": lambda url: json.dumps(url).replace("/", r"\/"),
    "within a text": lambda url: json.dumps(f'see "{url}'),
    "quoted in a text": lambda url: json.dumps(f'<img src="{url}">'),
}


@pytest.mark.parametrize("write", WRITTEN.values(), ids=list(WRITTEN))
def test_pictures_are_passed_on_as_they_were_written_and_take_no_room(
    post: Post, write: Callable[[str], str]
):
    sent, script = listen()
    url = write(f"data:image/png;base64,{PICTURE}")
    count = 3 if "<img" in url else 4  # those are read, and may have 8 MiB
    shots = ",".join([f'{{"type": "image_url", "image_url": {{"url": {url}}}}}'] * count)
    message = f'{{"role": "user", "content": [{{"type": "text", "text": "read"}}, {shots}]}}'
    head = json.dumps({"model": "m", "tools": TOOLS})[:-1]
    content = f'{head}, "messages": [{message}]}}'.encode()
    with peer(script) as model:
        post(f"{model.url}/chat/completions", content)
    (body,) = sent
    assert len(json.loads(body)["tools"]) < len(TOOLS)
    read = json.loads(body)["messages"][0]["content"][1:]
    assert read == json.loads(content)["messages"][0]["content"][1:]


MANY_TOOLS = [{"type": "function", "function": {"name": f"tool_{n}"}} for n in range(300)]


def test_a_request_that_is_not_searched_has_no_more_tools_than_the_provider_takes(post: Post):
    sent, script = listen()
    text = "a word " * (MAX_SEARCHED_BYTES // 7)
    messages = [{"role": "user", "content": text}]
    choice = {"type": "function", "function": {"name": "tool_299"}}
    ask(post, script, messages=messages, tools=MANY_TOOLS, tool_choice=choice)
    (body,) = map(json.loads, sent)
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert 100 < len(names) <= 128
    assert "tool_299" in names
    assert body["messages"] == messages


def test_a_picture_in_a_request_that_is_not_searched_is_passed_on(post: Post):
    """Of 300 tools only 128 are, so the body is written anew."""
    sent, script = listen()
    url = {"url": f"data:image/png;base64,{PICTURE}"}
    parts = [{"type": "text", "text": "1," * 450_000}, {"type": "image_url", "image_url": url}]
    messages = [{"role": "user", "content": parts}]
    ask(post, script, messages=messages, tools=MANY_TOOLS)
    body = json.loads(sent[0])
    assert len(body["tools"]) <= 128
    assert body["messages"] == messages


def test_an_object_of_half_a_million_fields_is_not_split(post: Post):
    sent, script = listen()
    fields = {str(number): 0 for number in range(500_000)}
    ask(post, script, **fields)
    assert sent == [json.dumps(QUESTION | fields).encode()]


def test_a_request_larger_than_any_provider_takes_goes_on_as_it_came(
    post: Post, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(transport, "MAX_BODY_BYTES", 10_000)
    sent, script = listen()
    ask(post, script, tools=MANY_TOOLS)
    assert len(json.loads(sent[0])["tools"]) == len(MANY_TOOLS)


def test_a_byte_order_mark_is_skipped(post: Post):
    sent, script = listen()
    with peer(script) as model:
        content = BOM_UTF8 + json.dumps(QUESTION).encode()
        post(f"{model.url}/chat/completions", content)
    assert len(json.loads(sent[0])["tools"]) < len(TOOLS)
