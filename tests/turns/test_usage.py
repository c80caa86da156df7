"""The usage of a turn is the sum of its forwards: the caller pays for every one of them."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.turns.flows import DONE, search
from tests.turns.shapes import BY_NAME, Json, tools_of
from tests.turns.streaming import StreamingModel
from toolscout.turns.providers import ProviderName
from toolscout.turns.providers.fields import add

USAGES: dict[str, tuple[Json, Json, Json]] = {
    "openai": (
        {"prompt_tokens": 100, "details": {"cached": 64}},
        {"prompt_tokens": 130, "completion_tokens": 9, "details": {"cached": 32, "audio": None}},
        {"prompt_tokens": 230, "completion_tokens": 9, "details": {"cached": 96, "audio": None}},
    ),
    "openai-responses": (
        {"input_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}},
        {"input_tokens": 6, "output_tokens_details": {"reasoning_tokens": 4}},
        {"input_tokens": 11, "output_tokens_details": {"reasoning_tokens": 7}},
    ),
    "anthropic": (
        {"input_tokens": 5, "cache_read_input_tokens": 9, "service_tier": "standard"},
        {"input_tokens": 6, "cache_read_input_tokens": 1, "service_tier": "batch"},
        {"input_tokens": 11, "cache_read_input_tokens": 10, "service_tier": "batch"},
    ),
    "bedrock-anthropic": ({"input_tokens": 5}, {"input_tokens": 6}, {"input_tokens": 11}),
    "bedrock": (
        {"inputTokens": 5, "totalTokens": 7},
        {"inputTokens": 6, "totalTokens": 8},
        {"inputTokens": 11, "totalTokens": 15},
    ),
    "gemini": (
        {"count": 5, "details": [{"modality": "TEXT", "tokenCount": 5}]},
        {"count": 2, "details": [{"modality": m, "tokenCount": 1} for m in ("IMAGE", "TEXT")]},
        {
            "count": 7,
            "details": [
                {"modality": "TEXT", "tokenCount": 6},
                {"modality": "IMAGE", "tokenCount": 1},
            ],
        },
    ),
}
"""The usage of a first forward, of a second one, and of both."""


def used(provider: str, usage: Json) -> Json:
    return {"usageMetadata" if provider == "gemini" else "usage": usage}


def answered(flow, provider: ProviderName, answers: Sequence[Json | Exception]) -> Json:
    """Return what the client sees after these answers of the model, in order."""
    shape = BY_NAME[provider]
    left = list(answers)

    def forward(_: Json) -> Json:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return flow().complete(shape.request("please help", tools_of(shape)), forward, provider)


@pytest.mark.parametrize("provider", list(USAGES))
def test_a_turn_with_a_search_costs_both_forwards(flow, provider):
    shape = BY_NAME[provider]
    first, last, total = (used(provider, usage) for usage in USAGES[provider])
    answers = [shape.response(search("read")) | first, shape.response(DONE) | last]
    assert total.items() <= answered(flow, provider, answers).items()


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


SUMS: dict[str, list[bytes]] = {
    "openai": [b'"prompt_tokens":3', b'"total_tokens":6'],
    "openai-responses": [b'"input_tokens":3', b'"reasoning_tokens":3', b'"cached_tokens":3'],
    "anthropic": [b'"input_tokens":3', b'"output_tokens":6'],
    "bedrock": [b'"inputTokens":3', b'"totalTokens":6'],
    "gemini": [b'"promptTokenCount":3'],
}
"""What the last words of a stream say after three forwards, each of which has the same usage."""


@pytest.mark.parametrize("provider", SUMS)
def test_a_stream_ends_with_the_usage_of_all_forwards(run, provider):
    shape = BY_NAME[provider]
    model = StreamingModel(shape, search("read"), search("code", "call_2"), DONE)
    out = b"".join(run(shape.request("please help", tools_of(shape), stream=True), model, provider))
    end = out[-900:].replace(b": ", b":")
    assert [usage for usage in SUMS[provider] if usage not in end] == []
