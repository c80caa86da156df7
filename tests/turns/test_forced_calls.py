"""Calls that the model had no choice about teach the service nothing."""

from typing import Any

import pytest

from tests.client.upstream import Peer
from tests.turns.flows import DONE, Model
from tests.turns.shapes import ABOUT, SHAPES, Json, Said
from tests.turns.test_reports import (
    MAIL,
    OPENAI,
    READ,
    Service,
    configured,
    service,
    teach,
    upstream,
)
from toolscout.discovery import ToolDiscovery

__all__ = ["service", "upstream"]  # fixtures, found by their names

ANSWER = ("call_a", "final_result", {"path": "z"})
FUNCTION = {"type": "function", "function": {"name": "send_email"}}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [FUNCTION]}}


def pairs(upstream: Peer, service: Service, shape: Any, request: Json, *calls: Any) -> Any:
    """Return what is reported of a request that the model answers with some calls."""
    discovery = ToolDiscovery(configured(upstream.url, "hybrid-first"))
    said = Said(calls=calls)
    model = Model(shape, said, DONE)
    discovery.complete(request, model, shape.name)
    discovery.complete(shape.history(request, said, ["ok"], "thanks"), model, shape.name)
    discovery.close()
    return service.pairs


@pytest.mark.parametrize(
    "shape", [s for s in SHAPES if s.forcing("send_email")], ids=lambda shape: shape.name
)
def test_a_call_of_a_forced_tool_is_not_reported(upstream, service, shape):
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    request = shape.request("hello there", tools, **shape.forcing("send_email"))
    assert pairs(upstream, service, shape, request, MAIL) == []


def test_a_required_call_that_the_model_chose_is_reported(upstream, service):
    tools = [OPENAI.tool(name, about) for name, about in ABOUT.items()]
    request = OPENAI.request("read it", tools, tool_choice="required")
    assert pairs(upstream, service, OPENAI, request, READ) == [("read it", "read_file")]


def test_a_call_of_a_listed_tool_is_not_reported(upstream, service):
    tools = [OPENAI.tool(name, about) for name, about in ABOUT.items()]
    discovery = ToolDiscovery(configured(upstream.url, "hybrid-first"))
    for choice, call in (({}, READ), ({"tool_choice": ALLOWED}, MAIL)):
        asked = OPENAI.request("read it", tools, **choice)
        teach(discovery, asked, Said(calls=(call,)))
    discovery.close()
    assert service.pairs == [("read it", "read_file")]
