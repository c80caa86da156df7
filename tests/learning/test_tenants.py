"""Experience is bounded over all tenants."""

import pytest

from tests.learning.test_experience import point, used
from toolscout.learning import tenants as bounds
from toolscout.learning.tenants import Tenants


def test_the_tenants_used_longest_ago_are_forgotten_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounds, "MAX_TENANTS", 3)
    tenants = Tenants()
    for name in ("one", "two", "three", "one", "four"):
        tenants.get(name)
    assert tenants.names() == ["three", "one", "four"]


def test_tenants_share_the_room_for_tools(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounds, "ALL_TOOLS", 12)
    tenants = Tenants()
    for name in ("one", "two", "three"):
        for number in range(20):
            tenants.get(name).experience.learn(used(f"tool{number}"), point(0))
    assert [len(tenants.get(name).experience) for name in ("one", "two", "three")] == [4, 4, 4]
    assert tenants.get("one").experience.of(("tool19", "")) is not None
