"""Check the page that an index shows of a package: `python -m tests.package_page dist/*`.

Prints every link and picture of a wheel's or source distribution's README that leads nowhere
outside the repository. The status is 1 where there is one.
"""

import argparse
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from html.parser import HTMLParser
from pathlib import Path

from markdown import markdown

ABSOLUTE = re.compile(r"https?://|mailto:|#")


class Targets(HTMLParser):
    """Collects what the links and pictures of a page lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]


def read_metadata(path: Path) -> Message:
    """Return the metadata within a wheel or a source distribution."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as packed:
            (name,) = (each for each in packed.namelist() if each.endswith(".dist-info/METADATA"))
            return message_from_bytes(packed.read(name))
    with tarfile.open(path) as source:
        (name,) = (each for each in source.getnames() if re.fullmatch(r"[^/]+/PKG-INFO", each))
        file = source.extractfile(name)
        assert file is not None
        return message_from_bytes(file.read())


def find_relative(page: str) -> Iterator[str]:
    """Find what a page in Markdown links to or shows by a relative address."""
    targets = Targets()
    targets.feed(markdown(page, extensions=["fenced_code", "tables"]))
    return (target for target in targets.found if not ABSOLUTE.match(target))


def main() -> int:
    """Check each file; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.package_page", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="wheel or source")
    status = 0
    for path in parser.parse_args().files:
        page = bytes(read_metadata(path).get_payload(decode=True)).decode()
        for target in find_relative(page):
            print(f"{path}: leads nowhere on an index: {target}")  # noqa: T201
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
