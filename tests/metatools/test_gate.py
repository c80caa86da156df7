"""The gate before risky calls: what was read, and the tokens of what was."""

from typing import Any

from toolscout.metatools.gate import RiskGate

DROP: dict[str, Any] = {"name": "db.drop_table", "description": "Drop a table"}


def test_a_risky_tool_is_refused_until_its_schema_was_read_and_again_when_it_changes():
    gate = RiskGate()
    how = 'read its full schema with tool_info and detail "full" before calling it.'
    assert gate.refusal(DROP) == f"db.drop_table is destructive: {how}"
    gate.note_read(DROP)
    assert gate.refusal(DROP) is None
    assert gate.refusal({**DROP, "status": "unavailable"}) is None
    assert gate.refusal({**DROP, "description": "Drop every table"}) is not None
    assert gate.refusal({"name": "read_file"}) is None


def test_a_token_belongs_to_one_definition_and_one_gate():
    gate = RiskGate()
    token = gate.token(DROP)
    assert not gate.refuses(DROP, token)
    assert gate.token({**DROP, "status": "unavailable"}) == token
    for wrong in (None, "", 7, gate.token({**DROP, "x": 1}), RiskGate().token(DROP)):
        assert gate.refuses(DROP, wrong)
    gate.note_read(DROP)
    assert not gate.refuses(DROP)
