"""A browser for the tests of the playground."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests import debian
from tests.integration.visits import Visit, visited
from tests.support import Process


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    debian.need(chromium="chromium")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser, server: Process) -> Iterator[Visit]:
    yield from visited(browser, server, viewport={"width": 1280, "height": 900})
