"""Every attack of `make attacks`, held to what is promised to the others."""

import os
from pathlib import Path

import pytest

from tests.attacks import __main__ as table
from tests.attacks.attack import MAX_GROWTH_MIB, Attack
from tests.attacks.replay import attacks, broken, replay
from tests.attacks.stalls import LIMIT_UNITS, Watched

pytestmark = [pytest.mark.integration, pytest.mark.alone]

DATA = os.environ.get("TOOLSCOUT_DATA")
ATTACKS = attacks(Path(DATA) / "catalogs" if DATA else None)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_leaves_others_alone(attack: Attack, tmp_path: Path):
    # Twice the limit: floods stall beside the attacker's own work on the same cores.
    assert broken(attack, replay(attack, tmp_path), 2 * LIMIT_UNITS) == []


KEPT = Watched(longest_s=0.01, probes=9, asked=100, answered=100, units=[0.01])


@pytest.mark.parametrize(
    "seen",
    [
        Watched(longest_s=0.01 * (LIMIT_UNITS + 1), probes=9, units=[0.01]),
        Watched(longest_s=0.01, probes=9, failed_probes=1, units=[0.01]),
        Watched(longest_s=0.01, units=[0.01]),
        Watched(longest_s=0.01, probes=9, asked=100, answered=98, units=[0.01]),
        Watched(longest_s=0.01, probes=9, rss_mib=MAX_GROWTH_MIB + 1, units=[0.01]),
    ],
    ids=["stall", "a probe", "no probe", "other tenant", "memory"],
)
def test_a_broken_promise_fails_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seen: Watched
):
    monkeypatch.setattr(table, "attacks", lambda _: ATTACKS[:1])
    monkeypatch.setattr(table, "replay", lambda *_: KEPT)
    assert table.main() == 0
    monkeypatch.setattr(table, "replay", lambda *_: seen)
    assert table.main() == 1
    assert "broken: " in capsys.readouterr().out
