"""Processes behind a balancer: by catalog they keep more, in turn they keep the same."""

import pytest

from loadtests import scaleout
from tests import debian

pytestmark = [pytest.mark.integration, pytest.mark.alone]


def test_balanced_by_catalog_more_processes_know_more_catalogs():
    debian.need(haproxy="haproxy")
    by_catalog = scaleout.measure(4, "by catalog", seconds=4)
    in_turn = scaleout.measure(4, "in turn", seconds=4)
    print(f"\n4 processes, 60 catalogs: {by_catalog.hit_rate:.0%} of calls found theirs when")
    print(f"balanced by catalog, {in_turn.hit_rate:.0%} when in turn")
    assert by_catalog.failed == in_turn.failed == 0
    assert by_catalog.hit_rate >= 0.95
    assert in_turn.hit_rate < by_catalog.hit_rate
