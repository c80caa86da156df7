"""Every attack of `make attacks`, held to what is promised to the others."""

import os
from pathlib import Path

import pytest

from tests.attacks.attack import Attack
from tests.attacks.replay import attacks, broken, replay
from tests.attacks.stalls import LIMIT_UNITS

pytestmark = [pytest.mark.integration, pytest.mark.alone]

DATA = os.environ.get("TOOLSCOUT_DATA")
ATTACKS = attacks(Path(DATA) / "catalogs" if DATA else None)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_leaves_others_alone(attack: Attack, tmp_path: Path):
    # Twice the limit: floods stall beside the attacker's own work on the same cores.
    assert broken(attack, replay(attack, tmp_path), 2 * LIMIT_UNITS) == []
