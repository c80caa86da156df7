"""Processes behind a balancer: by catalogue they keep more, in turn they keep the same."""

import pytest

from loadtests import scaleout
from tests import debian

pytestmark = pytest.mark.integration


def test_balanced_by_catalogue_more_processes_know_more_catalogues():
    debian.need(haproxy="haproxy")
    by_catalogue = scaleout.measure(4, "by catalogue", seconds=4)
    in_turn = scaleout.measure(4, "in turn", seconds=4)
    print(f"\n4 processes, 60 catalogues: {by_catalogue.hit_rate:.0%} of calls found theirs when")
    print(f"balanced by catalogue, {in_turn.hit_rate:.0%} when in turn")
    assert by_catalogue.failed == in_turn.failed == 0
    assert by_catalogue.hit_rate >= 0.95
    assert in_turn.hit_rate < by_catalogue.hit_rate
