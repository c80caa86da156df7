"""The alert on the calls of hidden tools that docs/client.md shows."""

import re
from pathlib import Path

import yaml

DOCS = Path(__file__).parents[2] / "docs"


def test_the_alert_of_the_client_asks_for_a_metric_that_there_is():
    page = (DOCS / "client.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    (rules,) = [block for block in blocks if "alert:" in block]
    ((rule,),) = [group["rules"] for group in yaml.safe_load(rules)["groups"]]
    used = set(re.findall(r"\btoolscout_\w+", rule["expr"]))
    known = set(re.findall(r"^- `(toolscout_\w+)`", (DOCS / "metrics.md").read_text("utf-8"), re.M))
    assert used == {"toolscout_client_calls_total"} <= known
