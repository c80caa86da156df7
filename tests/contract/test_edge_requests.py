"""Odd requests from the shared data, with the outcomes that the contract decides."""

import json
from pathlib import Path

import pytest

from tests.support import Server

DECIDED = {"always_keep_only_when_no_match": [], "always_keep_equals_top_k": ["read_file"]}
"""Where the contract decides otherwise than proposed, or what was left open."""

REFUSED = {"pattern_blank": 422, "top_k_zero": 422, "top_k_negative": 422}


def edge_requests(data: Path) -> list[dict]:
    requests: list[dict] = json.loads((data / "cases" / "edge-requests.json").read_bytes())[
        "requests"
    ]
    return requests


def test_odd_requests_have_the_outcome_of_the_contract(server: Server, data: Path):
    for case in edge_requests(data):
        name, body = case["id"], case["body"]
        response = server.post(body)
        assert response.status_code == REFUSED.get(name, 200), name
        if name in REFUSED:
            continue
        selected = response.json()["selected_names"]
        assert set(selected) <= {tool["name"] for tool in body["tools"]}, name
        assert len(selected) == len(set(selected)) <= body.get("top_k", 5), name
        if name in DECIDED:
            assert selected == DECIDED[name], name


@pytest.mark.parametrize(
    ("name", "selected"),
    [
        ("minimal", ["read_file"]),
        ("every_tool_twice", ["read_file"]),
        ("always_keep_exceeds_top_k", ["read_file"]),
        ("definition_openai_flat", ["flat"]),
        ("tools_empty", []),
    ],
)
def test_odd_requests_select(server: Server, data: Path, name: str, selected: list[str]):
    body = next(case["body"] for case in edge_requests(data) if case["id"] == name)
    assert server.post(body).json()["selected_names"][: len(selected) or None] == selected
