"""Response bodies as SDKs hand them out: dicts, or pydantic objects that are read as dicts.

A flow works on dicts. A caller that forwards with an SDK gets an object of the SDK's type back.
"""

from collections.abc import Mapping
from typing import Any

from toolscout.discovery.providers.fields import Json, as_dict
from toolscout.errors import InvalidArgument

_REQUEST_ID = "_request_id"
"""Attribute in which the OpenAI and Anthropic SDKs keep a response header."""


def body_of(response: Any) -> Json:
    """Read a response body as the provider sent it, without the fields that an SDK adds.

    Raises:
        InvalidArgument: it is neither a mapping nor an object with `model_dump`.
    """
    body = as_dict(response)
    if body is None and isinstance(response, Mapping):
        body = dict(response)
    if body is None:
        expected = "it to return a response body, as a dict or a pydantic object"
        raise InvalidArgument.of("forward", expected, response)
    return body


def in_type_of(response: Any, body: Json) -> Any:
    """Turn a body that was read from a response, and perhaps changed, into the response's type."""
    if isinstance(response, dict):
        return body
    if body == body_of(response):
        return response
    if isinstance(response, Mapping):
        return body
    made = _construct(type(response), body)
    if getattr(response, _REQUEST_ID, None) is not None:
        setattr(made, _REQUEST_ID, response._request_id)
    return made


def _construct(kind: Any, body: Json) -> Any:
    try:
        return kind.model_validate(body)
    except ValueError:
        # Providers send fields that their SDK does not know yet; it keeps them unvalidated.
        return kind.model_construct(**body)
