"""What a tenant's tools were seen to do, bounded over all tenants."""

import numpy as np
import pytest

from toolscout.experience.reported import MAX_TOOLS, SLOTS, Experience, Observation, ReportedUse
from toolscout.index.pattern_vectors import DIMENSIONS
from toolscout.learning import tenants as bounds
from toolscout.learning.tenants import Tenants


def point(number: int) -> np.ndarray:
    """Points that are at right angles to each other."""
    vector = np.zeros(DIMENSIONS, np.float32)
    vector[number] = 1.0
    return vector


def used(tool: str = "tool", success: bool = True, **fields: object) -> Observation:
    return Observation(pattern="a pattern", tool=tool, success=success, **fields)  # type: ignore[arg-type]


def test_uses_are_counted_by_success():
    experience = Experience()
    for success in (True, True, False):
        experience.learn(used(success=success), point(0))
    tool = experience.of(("tool", ""))
    assert tool is not None
    assert (tool.successes, tool.failures, experience.observations) == (2, 1, 3)


def test_the_same_pattern_is_kept_once():
    experience = Experience()
    for _ in range(100):
        experience.learn(used(), point(0))
    tool = experience.of(("tool", ""))
    assert tool is not None
    assert [slot.successes for slot in tool.slots] == [100]


def test_a_tool_keeps_a_few_patterns_however_much_it_is_used():
    experience = Experience()
    for number in range(100):
        experience.learn(used(), point(number))
    tool = experience.of(("tool", ""))
    assert tool is not None
    assert len(tool.slots) == SLOTS
    assert sum(slot.successes for slot in tool.slots) == 100


def test_a_tool_with_other_content_starts_anew():
    experience = Experience()
    experience.learn(used(digest="one"), point(0))
    assert experience.of(("tool", "two")) is None


def test_only_successful_calls_have_a_typical_duration():
    experience = Experience()
    experience.learn(used(duration_ms=100.0), point(0))
    experience.learn(used(success=False, duration_ms=9_000.0), point(0))
    tool = experience.of(("tool", ""))
    assert tool is not None
    assert tool.duration_ms == pytest.approx(100.0)


def test_calls_of_which_only_the_name_was_known_count_for_the_tool():
    experience = Experience()
    experience.learn(used(digest="one", duration_ms=10.0), point(0))
    experience.learn(used(success=False), point(0))
    experience.learn(used(digest="two"), point(0))
    assert experience.use("tool", "one") == ReportedUse(1, 1, 10.0)
    assert experience.use("other", "one") is None


def test_the_tools_used_longest_ago_are_forgotten_first():
    experience = Experience()
    for number in range(MAX_TOOLS + 10):
        experience.learn(used(f"tool{number}"), point(0))
    assert len(experience) == MAX_TOOLS
    assert experience.of(("tool9", "")) is None
    assert experience.of(("tool10", "")) is not None


def test_changes_are_told_until_they_are_too_many():
    experience = Experience()
    experience.learn(used("first"), point(0))
    seen = experience.changes
    experience.learn(used("second"), point(0))
    assert experience.find_changed(seen) == [("second", "")]
    for _ in range(20_000):
        experience.learn(used("third"), point(0))
    assert experience.find_changed(seen) is None


# Experience is bounded over all tenants.


def test_the_tenants_used_longest_ago_are_forgotten_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounds, "MAX_TENANTS", 3)
    tenants = Tenants()
    for name in ("one", "two", "three", "one", "four"):
        tenants.of(name)
    assert list(dict(tenants.items())) == ["three", "one", "four"]


def test_tenants_share_the_room_for_tools(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounds, "ALL_TOOLS", 12)
    tenants = Tenants()
    for name in ("one", "two", "three"):
        for number in range(20):
            tenants.of(name).experience.learn(used(f"tool{number}"), point(0))
    assert [len(tenants.of(name).experience) for name in ("one", "two", "three")] == [4, 4, 4]
    assert tenants.of("one").experience.of(("tool19", "")) is not None


def test_a_new_tenant_costs_no_look_at_all_the_others(monkeypatch: pytest.MonkeyPatch):
    bounded, bound = list[int](), Experience.bound

    def counted(self: Experience, limit: int) -> None:
        bounded.append(limit)
        bound(self, limit)

    monkeypatch.setattr(Experience, "bound", counted)
    tenants = Tenants()
    for number in range(5_000):
        tenants.of(str(number))
    assert len(bounded) < 50 * 5_000
