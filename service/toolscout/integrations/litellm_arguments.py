"""Choose the arguments of a LiteLLM request that go out again after a search.

Between the first forward and the next one LiteLLM adds arguments of its own to a request, among
them `deployment` with the provider's key. So only what the caller itself sent is forwarded again,
and what is listed here.
"""

import copy
from collections.abc import Collection, Mapping
from typing import Any

Json = dict[str, Any]

LITELLM = frozenset(
    (
        # Shape of the request to the provider.
        "additional_drop_params",
        "allowed_openai_params",
        "api_version",
        "cache_control_injection_points",
        "drop_params",
        "extra_body",
        "extra_headers",
        "headers",
        "include_server_side_tool_invocations",
        "merge_reasoning_content_in_choices",
        "mock_response",
        "model_file_id_mapping",
        "organization",
        "provider_specific_header",
        # Routing, retries and time limits.
        "allowed_model_region",
        "client_side_timeout",
        "content_policy_fallbacks",
        "context_window_fallback_dict",
        "context_window_fallbacks",
        "disable_fallbacks",
        "enable_tag_filtering",
        "fallbacks",
        "max_retries",
        "num_retries",
        "request_timeout",
        "stream_timeout",
        "timeout",
        # Whose request it is: keys, teams, budgets and spend are tracked by these.
        "litellm_metadata",
        "litellm_session_id",
        "litellm_trace_id",
        "metadata",
        "no-log",
        "tags",
        # Caching, guardrails and prompts.
        "assistant_continue_message",
        "cache",
        "caching",
        "enable_prompt_caching",
        "ensure_alternating_roles",
        "guardrails",
        "prompt_environment",
        "prompt_id",
        "prompt_label",
        "prompt_variables",
        "prompt_version",
        "supports_system_message",
        "ttl",
        "user_continue_message",
    )
)
"""Arguments that LiteLLM documents, or that its proxy derives from keys and headers."""

OWN_CONNECTION = frozenset(
    (
        "api_base",
        "api_key",
        "base_url",
        "deployment",
        "litellm_credential_name",
        "litellm_params",
        "user_config",
    )
)
"""Arguments of a request that is served by other credentials than those of the proxy's models."""


def has_own_connection(data: Mapping[str, Any]) -> bool:
    """Tell whether a request needs credentials that are never forwarded a second time."""
    return not OWN_CONNECTION.isdisjoint(data)


def sent_by_caller(data: Mapping[str, Any], owned: Collection[str]) -> frozenset[str]:
    """Return the names of the arguments that came in the caller's own body.

    Fields that only the provider knows (`guided_json`, `min_p`) are among them: a second forward
    without them would be a different request, and they hold no secret of the proxy.

    Args:
        data: the request before it is routed; its `proxy_server_request` has the caller's body.
        owned: names of arguments that belong to LiteLLM.
    """
    received = data.get("proxy_server_request")
    body = received.get("body") if isinstance(received, Mapping) else None
    return frozenset(body if isinstance(body, Mapping) else data) - OWN_CONNECTION - set(owned)


def forwardable(data: Mapping[str, Any], sent: Collection[str]) -> Json:
    """Return the arguments of a request that may be forwarded again."""
    return {key: value for key, value in data.items() if key in sent or key in LITELLM}


def private_copy(arguments: Mapping[str, Any]) -> Json:
    """Copy what LiteLLM changes in place while it serves a forward.

    Metadata is copied at its first level only: it holds live objects, such as a trace span.
    """
    copied = dict(arguments)
    for key in ("messages", "input", "tools"):
        if key in copied:
            copied[key] = copy.deepcopy(copied[key])
    for key in ("metadata", "litellm_metadata"):
        if isinstance(copied.get(key), dict):
            copied[key] = dict(copied[key])
    return copied
