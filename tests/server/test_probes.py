"""Health, readiness, and the documents a person reads."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.in_process import serving
from tests.support import Process, running, until


def test_healthz_says_alive(server: Process):
    response = server.get("/healthz")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("application/json")
    assert response.json()["status"] == "ok"


def test_readyz_names_its_components(server: Process):
    response = server.get("/readyz")
    assert response.status_code == 200
    body = response.json()
    assert body["status"] == "ready"
    assert body["components"] == {"model": True, "self_test": True, "accepting": True}


def test_readyz_says_with_verbose_whether_the_store_works(tmp_path: Path):
    (tmp_path / "file").write_text("no folder", "utf-8")
    folder = tmp_path / "new"
    with serving(tmp_path, store=f"sqlite:{folder}/state.db") as works:
        assert works.get("/readyz?verbose").json()["store"] == "ok"
        assert "store" not in works.get("/readyz").json()
    keys = "k" * 32
    broken = f"sqlite:{tmp_path}/file/state.db"
    with serving(tmp_path, store=broken, api_keys=keys) as keyed:
        assert "store" not in keyed.get("/readyz?verbose").json()
        answer = keyed.get("/readyz?verbose", authorization=f"Bearer {keys}")
        assert answer.status_code == 200
        assert answer.json()["status"] == "ready"
        assert f"{tmp_path}/file/state.db: " in answer.json()["store"]
        assert "searches go on" in answer.json()["store"]


def test_readyz_says_with_verbose_which_of_the_callers_keys_end_soon(tmp_path: Path):
    soon = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d}"
    mine, other = "m" * 32, "o" * 32
    keys = f"mine={mine};expires={soon}, other={other};expires={soon}, mine={'l' * 32}"
    with serving(tmp_path, api_keys=keys) as keyed:
        answer = keyed.get("/readyz?verbose", authorization=f"Bearer {mine}")
    assert answer.json()["expiring"] == [f"key 1 of mine ends at {soon} 00:00:00+00:00"]


def test_a_folder_that_the_store_needs_is_made_with_a_line_in_the_log(tmp_path: Path):
    folder = tmp_path / "new" / "folder"
    with running(tmp_path, "--store", f"sqlite:{folder}/state.db") as server:
        until(lambda: "store_folder_made" in server.stdout)
        assert str(folder) in server.stdout
    with running(tmp_path, "--store", f"sqlite:{folder}/state.db") as server:
        assert server.search().status_code == 200
    assert "store_folder_made" not in server.stdout


def test_a_summary_for_language_models_leads_to_what_is_there(keyed: Process):
    page = keyed.get("/llms.txt")
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    assert page.text.startswith("# Toolscout\n\n> ")
    for link in re.findall(r"\]\((/[^)]+)\)", page.text):
        assert keyed.get(link).status_code == (401 if link == "/metrics" else 200)


@pytest.mark.parametrize("path", ["/docs", "/docs/", "/docs/errors"])
def test_the_links_of_pages_hold_below_any_path(server: Process, path: str):
    page = server.get(path)
    assert page.status_code == 200
    shown_at = f"http://proxy.example/tools{path}"
    for link in re.findall(r'(?:src|href)="([^"#]+)"', page.text):
        if not link.startswith("data:"):
            target = urljoin(shown_at, link)
            assert target.startswith("http://proxy.example/tools/"), link
            assert server.get(target.removeprefix("http://proxy.example/tools")).status_code == 200


def test_docs_need_no_other_host(server: Process):
    page = server.get("/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(links) >= 2
    for link in [link for link in links if not link.startswith("data:")]:
        assert "//" not in link
        asset = server.client.get(f"{server.url}/{link.lstrip('/')}")
        assert asset.status_code == 200, link
        assert asset.content
    assert "http" not in page.headers["content-security-policy"]


def test_banner_says_where_and_how(server: Process):
    said = server.stderr
    assert server.url in said
    assert f"{server.url}/docs" in said
    assert "curl" in said
    assert "10,000 tools" in said
    assert re.search(r"model .*\([0-9a-f]{16}\)", said)


def test_the_banners_curl_works(server: Process):
    body = re.search(r"-d '(.+)'", server.stderr)
    assert body
    response = server.post(body[1].encode())
    assert response.json() == {"selected_names": ["read_file"]}


def test_banner_shows_no_key(keyed: Process):
    assert "3 key(s)" in keyed.stderr
    assert "0123456789abcdef" not in keyed.stderr
    assert "YOUR_KEY" in keyed.stderr
