"""Requests captured from the real proxy, sent byte for byte."""

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from tests.conftest import ZENITH
from tests.support import Process, exchange


def _captured() -> list[str]:
    folder = Path(os.environ.get("TOOLSCOUT_DATA", "")) / "wire"
    if not os.environ.get("TOOLSCOUT_DATA") or not folder.is_dir():
        return ["absent"]  # one case, which skips and says why
    return sorted(
        path.stem for path in folder.glob("*.json") if "request" in json.loads(path.read_bytes())
    )


def replayed(server: Process, folder: Path, name: str) -> tuple[int, dict[str, str], bytes]:
    """Send the captured bytes; only the key is filled in."""
    capture = json.loads((folder / f"{name}.json").read_bytes())["request"]
    body = (folder / capture["body_file"]).read_bytes()
    assert sha256(body).hexdigest() == capture["body_sha256"]
    lines = [f"{capture['method']} {capture['path']} {capture['http_version']}"]
    for header, value in capture["headers"].items():
        lines.append(f"{header}: {value.replace('${TOKEN}', ZENITH)}")
    head = "\r\n".join([*lines, "", ""]).encode()
    return exchange(server, head + body)


@pytest.mark.parametrize("name", _captured())
def test_captured_requests_meet_their_hard_expectations(keyed: Process, data: Path, name: str):
    folder = data / "wire"
    expected = {
        case["id"]: case for case in json.loads((folder / "expectations.json").read_bytes())
    }
    case = expected[name]
    hard = case["hard"]
    request = json.loads((folder / f"{name}.body.json").read_bytes())

    status, headers, raw = replayed(keyed, folder, name)

    assert status == hard["status"], raw
    assert headers["content-type"] == "application/json"
    assert "content-encoding" not in headers
    answer = json.loads(raw)
    selected = answer["selected_names"]
    assert all(isinstance(chosen, str) for chosen in selected)
    assert set(selected) <= {tool["name"] for tool in request["tools"]}
    assert len(selected) == len(set(selected)) <= request[hard["max_len"]]
    assert set(hard.get("contains_always_keep_that_is_in_tools", [])) <= set(selected)
    assert not set(hard["must_not_contain"]) & set(selected)
    if "response_fields" in hard:
        assert answer["success"] is True
        assert answer["data"]["relevant_tools"] == selected
    else:
        assert list(answer) == ["selected_names"]
    assert replayed(keyed, folder, name)[2] == raw or "degraded=no" not in headers.get(
        "x-tool-selection", ""
    )


def test_every_expectation_has_its_capture(data: Path):
    cases = json.loads((data / "wire" / "expectations.json").read_bytes())
    assert sorted(case["id"] for case in cases) == _captured()
