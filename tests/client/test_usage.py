"""The usage of a turn is the sum of its forwards: the caller pays for every one of them."""

from collections.abc import Sequence

import anthropic
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.flows import DONE, PHANTOM, flow, search, service
from tests.client.shapes import ABOUT, SHAPES, Json, Said
from tests.client.streaming import anthropic_events, openai_events
from tests.client.upstream import Exchange, peer
from toolscout.discovery import ToolDiscovery
from toolscout.discovery.providers import ProviderName
from toolscout.discovery.providers.usage import add

__all__ = ["flow", "service"]  # fixtures, found by their names

BY_NAME = {shape.name: shape for shape in SHAPES}

USAGES: dict[str, tuple[Json, Json, Json]] = {
    "openai": (
        {"usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64}}},
        {
            "usage": {
                "prompt_tokens": 130,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 32, "audio_tokens": None},
            }
        },
        {
            "usage": {
                "prompt_tokens": 230,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 96, "audio_tokens": None},
            }
        },
    ),
    "openai-responses": (
        {"usage": {"input_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}}},
        {"usage": {"input_tokens": 6, "output_tokens_details": {"reasoning_tokens": 4}}},
        {"usage": {"input_tokens": 11, "output_tokens_details": {"reasoning_tokens": 7}}},
    ),
    "anthropic": (
        {"usage": {"input_tokens": 5, "cache_read_input_tokens": 9, "service_tier": "standard"}},
        {"usage": {"input_tokens": 6, "cache_read_input_tokens": 1, "service_tier": "batch"}},
        {"usage": {"input_tokens": 11, "cache_read_input_tokens": 10, "service_tier": "batch"}},
    ),
    "bedrock-anthropic": (
        {"usage": {"input_tokens": 5}},
        {"usage": {"input_tokens": 6}},
        {"usage": {"input_tokens": 11}},
    ),
    "bedrock": (
        {"usage": {"inputTokens": 5, "totalTokens": 7}},
        {"usage": {"inputTokens": 6, "totalTokens": 8}},
        {"usage": {"inputTokens": 11, "totalTokens": 15}},
    ),
    "gemini": (
        {
            "usageMetadata": {
                "promptTokenCount": 5,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}],
            }
        },
        {
            "usageMetadata": {
                "promptTokenCount": 9,
                "promptTokensDetails": [
                    {"modality": "IMAGE", "tokenCount": 2},
                    {"modality": "TEXT", "tokenCount": 7},
                ],
            }
        },
        {
            "usageMetadata": {
                "promptTokenCount": 14,
                "promptTokensDetails": [
                    {"modality": "TEXT", "tokenCount": 12},
                    {"modality": "IMAGE", "tokenCount": 2},
                ],
            }
        },
    ),
}


def answered(flow, provider: ProviderName, answers: Sequence[Json | Exception]) -> Json:
    """What the client sees after these answers of the model, in order."""
    shape = BY_NAME[provider]
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    left = list(answers)

    def forward(_: Json) -> Json:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return flow().complete(shape.request("please help", tools), forward, provider)


def usage_of(response: Json, like: Json) -> Json:
    return {key: value for key, value in response.items() if key in like}


@pytest.mark.parametrize("provider", list(USAGES))
def test_a_turn_with_a_search_costs_both_forwards(flow, provider):
    shape = BY_NAME[provider]
    first, last, total = USAGES[provider]
    answers = [shape.response(search("read")) | first, shape.response(DONE) | last]
    assert usage_of(answered(flow, provider, answers), total) == total


@pytest.mark.parametrize("provider", list(USAGES))
def test_a_turn_without_a_search_keeps_its_usage(flow, provider):
    _, last, _ = USAGES[provider]
    answer = BY_NAME[provider].response(DONE) | last
    assert answered(flow, provider, [answer]) == answer


def test_a_mixed_turn_counts_its_only_forward_once(flow):
    mixed = Said("Both.", (*search("email").calls, ("call_2", "read_file", {})))
    answer = BY_NAME["openai"].response(mixed) | {"usage": {"prompt_tokens": 3}}
    assert answered(flow, "openai", [answer])["usage"] == {"prompt_tokens": 3}


def test_a_forward_that_fails_after_a_search_leaves_the_cost_of_those_before(flow):
    shape = BY_NAME["openai"]
    first = shape.response(search("read")) | {"usage": {"prompt_tokens": 3}}
    last = shape.response(DONE) | {"usage": {"prompt_tokens": 40}}
    response = answered(flow, "openai", [first, RuntimeError("too long"), last])
    assert response["usage"] == {"prompt_tokens": 43}


COUNTS = st.integers(min_value=0, max_value=10**9)


@given(
    st.dictionaries(st.sampled_from("abc"), COUNTS), st.dictionaries(st.sampled_from("abc"), COUNTS)
)
def test_no_token_is_lost_or_counted_twice(one, other):
    assert sum(add(one, other).values()) == sum(one.values()) + sum(other.values())


def streamed(provider: ProviderName, events: list[list[bytes]]) -> bytes:
    """What a client reads of a turn whose forwards stream these events."""
    shape = BY_NAME[provider]
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    left = list(events)

    def script(exchange: Exchange) -> None:
        exchange.select("read_file")

    with peer(script) as asked:
        discovery = ToolDiscovery(asked.url, timeout=5)
        request = shape.request("please help", tools)
        out = b"".join(discovery.stream(request, lambda _: iter(left.pop(0)), provider))
        discovery.close()
    assert PHANTOM.encode() not in out
    return out


def with_usage(events: list[bytes], before: bytes, after: bytes) -> list[bytes]:
    assert before in b"".join(events)
    return [event.replace(before, after) for event in events]


def test_a_streamed_turn_of_openai_ends_with_the_sum():
    plain = b'"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2'
    counted = b'"prompt_tokens": %d, "completion_tokens": 2, "total_tokens": 9'
    out = streamed(
        "openai",
        [
            with_usage(openai_events(search("read"), 0), plain, counted % 100),
            with_usage(openai_events(search("code", "call_2"), 1), plain, counted % 120),
            with_usage(openai_events(DONE, 2), plain, counted % 150),
        ],
    )
    headers = [("Content-Type", "text/event-stream")]
    with (
        peer(lambda exchange: exchange.answer(out, headers=headers)) as upstream,
        openai.OpenAI(api_key="none", base_url=upstream.url) as client,
    ):
        chunks = list(client.chat.completions.create(model="m", messages=[], stream=True))
    (usage,) = [chunk.usage for chunk in chunks if chunk.usage]
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (370, 6, 27)


def test_a_streamed_turn_of_anthropic_ends_with_the_sum():
    started, ended = b'"input_tokens": 1, "output_tokens": 1', b'"usage": {"output_tokens": 2}'

    def counted(events: list[bytes], given: int, made: int) -> list[bytes]:
        spent = b'"input_tokens": %d, "cache_read_input_tokens": 4, "output_tokens": 1' % given
        events = with_usage(events, started, spent)
        return with_usage(events, ended, b'"usage": {"output_tokens": %d}' % made)

    out = streamed(
        "anthropic",
        [
            counted(anthropic_events(search("read"), 0), 100, 20),
            counted(anthropic_events(DONE, 1), 130, 7),
        ],
    )
    headers = [("Content-Type", "text/event-stream")]
    with (
        peer(lambda exchange: exchange.answer(out, headers=headers)) as upstream,
        anthropic.Anthropic(api_key="none", base_url=upstream.url) as client,
        client.messages.stream(model="m", max_tokens=9, messages=[]) as stream,
    ):
        usage = stream.get_final_message().usage
    assert (usage.input_tokens, usage.output_tokens) == (230, 27)
    assert usage.cache_read_input_tokens == 8
