"""An overlay holds for catalogs that PostgreSQL keeps tool by tool."""

from pathlib import Path

import pytest

from tests.conftest import ACME_OLD
from tests.contract.external_catalogs import change, names
from tests.in_process import serving
from tests.postgres_server import PostgresServer
from tests.support import TOOLS, crowd

pytestmark = pytest.mark.integration

HARMLESS = "acme-harmless-0123456789abcdef0123456789abcdef"
CRYPTIC = {"name": "op_17", "description": "Executes operation 17", "risk": "read_only"}
ROWS = """
[[tool]]
name = "op_17"
search_text = "piano tuning"
[[tool]]
name = "gadget_2_*"
hide = true
[[tool]]
name = "read_*"
risk = "destructive"
[[tool]]
name = "send_email"
pin = true
"""


def test_words_pins_and_risks_hold_for_candidates(tmp_path: Path, postgres_server: PostgresServer):
    postgres_server.empty()
    file = tmp_path / "overlay.toml"
    file.write_text(ROWS, "utf-8")
    keys = f"acme={ACME_OLD},acme={HARMLESS};max_risk=read_only"
    settings = {"store": postgres_server.url, "api_keys": keys, "latency_budget_ms": 10_000}
    with serving(tmp_path, overlay=str(file), **settings) as server:
        tools = [*TOOLS, *crowd(300), CRYPTIC]
        assert change(server, "PUT", {"tools": tools, "keep": "postgres"}) == 201
        assert names(server, "piano tuning", top_k=2) == ["op_17", "send_email"]
        assert "gadget_2_spin" not in names(server, "gadget_2_spin", top_k=20)
        assert "read_file" in names(server, "read a file")
        assert "read_file" not in names(server, "read a file", key=HARMLESS)
