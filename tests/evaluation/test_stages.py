"""The switches by which each stage's worth is measured."""

import pytest

from evals.stages import SWITCHES, Switch


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.title)
def test_a_switch_replaces_what_there_is(switch: Switch):
    before = [getattr(owner, name) for owner, name, _ in switch.changes]
    with switch.off():
        assert [getattr(owner, name) for owner, name, _ in switch.changes] != before
    assert [getattr(owner, name) for owner, name, _ in switch.changes] == before
