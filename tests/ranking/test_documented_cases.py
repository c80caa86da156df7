"""Documented behaviour of other systems holds here, for each kind of case."""

import json
from collections import Counter
from pathlib import Path

from evals.kinds import KINDS, check
from toolscout.index.static_model import BUNDLED_MODEL

BEYOND_SEARCH = sorted(KINDS.keys() - {"search"})


def test_every_kind_beside_plain_searches_holds(data: Path):
    seen: Counter[str] = Counter()
    for name in ("chuk", "gatemini", "locus"):
        for case in json.loads((data / "cases" / f"{name}.json").read_text("utf-8"))["cases"]:
            kind = "filters" if case.get("filters") else case["kind"]
            if kind in (*BEYOND_SEARCH, "filters") and not case.get("aliases"):
                seen[kind] += 1
                got, failures = check(case, str(BUNDLED_MODEL))
                assert not failures, (case["id"], got, failures)
    assert set(seen) == {*BEYOND_SEARCH, "filters"}
