"""A file that is written while it is read changes nothing before it is whole."""

import pytest
from prometheus_client import CollectorRegistry, Counter

from tests.server.test_rotation import NEW, OLD
from toolscout.server.http.auth import KeyFile, Keyring
from toolscout.serving.followed_files import READS, FollowedFiles

WHOLE = f"{OLD};scopes=search;tags=finance\n{NEW};expires=2030-01-31\n"


def followed(seen: str) -> tuple[FollowedFiles[str], list[str]]:
    used: list[str] = []
    return FollowedFiles(lambda: "now", used.append, seen), used


def test_a_text_is_used_once_some_reads_agree():
    files, used = followed("old")
    for read in ("old", "ne", "ne", "new", "new"):
        files.take(read)
    assert used == []
    files.take("new")
    files.take("new")
    assert used == ["new"]


def test_who_says_that_a_file_is_written_need_not_wait():
    files, used = followed("old")
    files.check()
    assert used == ["now"]
    files.take("now")
    assert used == ["now"]


@pytest.mark.parametrize("length", range(1, len(WHOLE), 7))
def test_no_beginning_of_a_key_file_widens_a_right(tmp_path, length: int):
    accepted: list[Keyring] = []
    path = tmp_path / "keys"
    path.write_text(WHOLE, "utf-8")
    log = Recorded()
    changes = Counter("changes", "x", ["result"], registry=CollectorRegistry())
    count = lambda result: changes.labels(result).inc()  # noqa: E731
    file = KeyFile(path, WHOLE.strip(), accepted.append, log, count)
    for text in (*[WHOLE[:length].strip()] * (READS - 1), *[WHOLE.strip()] * READS):
        file.files.take(text)
    assert (accepted, log.told) == ([], [])


class Recorded:
    """A log that remembers warnings."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, object]]] = []

    def warning(self, event: str, **fields: object) -> None:
        self.told.append((event, fields))

    info = error = exception = lambda *_, **__: None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (f"{OLD};scopes=search", OLD, "scope admin, scope feedback, scope write"),
        (f"{OLD};tags=finance", f"{OLD};scopes=search", "all tools"),
        (f"{OLD};tags=finance", f"{OLD};tags=legal", "other tools"),
        (f"{OLD};expires=2030-01-31", OLD, "longer"),
        (f"{OLD};expires=2030-01-31", f"{OLD};expires=2031-01-31", "longer"),
        (OLD, OLD.replace("acme", "zenith"), "tenant zenith"),
        (OLD, f"{OLD};scopes=search;tags=finance", None),
        (OLD, f"{OLD}\n{NEW}", None),
        (f"{OLD};expires=2031-01-31", f"{OLD};expires=2030-01-31", None),
    ],
)
def test_what_a_key_may_do_more_is_told(before: str, after: str, what: str | None):
    wider = Keyring(after).find_wider(Keyring(before))
    assert [said for _, said in wider] == ([] if what is None else [what])
    assert all(len(name) == 12 for name, _ in wider)
