"""Every attack of `make attacks`, held to what is promised to the others."""

import os
from pathlib import Path

import pytest

from tests.attacks.replay import LEAST_SHARE, MAX_RSS_MIB, Attack, attacks, replay
from tests.attacks.stalls import LIMIT_UNITS

DATA = os.environ.get("TOOLSCOUT_DATA")
ATTACKS = attacks(Path(DATA) / "catalogs" if DATA else None)


@pytest.mark.integration
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_leaves_others_alone(attack: Attack, tmp_path: Path):
    seen = replay(attack, tmp_path)
    assert seen.probes
    assert not seen.failed_probes
    assert seen.stall_units <= 2 * LIMIT_UNITS  # of a flood, beside the attacker's own work
    assert seen.share >= LEAST_SHARE
    assert seen.rss_mib <= seen.base_mib + MAX_RSS_MIB
