"""A visit to the playground in a browser."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.support import Process


@dataclass
class Visit:
    """One page, and what it said and asked for."""

    page: Page
    server: Process
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.server.url + "/")

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def paste(self, tools: Any) -> None:
        """Choose one's own tools and paste them."""
        text = tools if isinstance(tools, str) else json.dumps(tools)
        self.page.get_by_label("Your own").check()
        self.page.locator("#paste").fill(text)

    def choose_sample(self, label: str) -> None:
        """Choose a sample and wait for its answer: until it is there, what stands below moves."""
        self.page.get_by_label(label).check()
        expect(self.page.locator("#summary")).to_be_visible()

    def settings(self) -> None:
        self.page.get_by_text("Settings", exact=True).click()

    def rankers(self) -> None:
        self.page.get_by_text("How each ranker sees it").click()

    def copied(self, way: str) -> str:
        """Copy the search in code, in one of the ways."""
        self.page.locator("#code").get_by_label(way, exact=True).check()
        self.page.get_by_role("button", name="Copy", exact=True).click()
        expect(self.page.locator("#copied")).to_contain_text("Copied.")
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        return text

    def answer(self) -> list[str]:
        return self.page.locator("#summary .names .name").all_inner_texts()

    def shows_nothing(self) -> None:
        expect(self.page.locator("#summary")).to_be_hidden()
        expect(self.page.locator(".ranker")).to_have_count(0)

    def ask(self, query: str) -> None:
        self.page.locator("#query").fill(query)

    def search(self, query: str, first: str) -> None:
        """Ask, and wait until a tool is first."""
        self.ask(query)
        self.first(first)

    def keep(self, name: str) -> None:
        """Keep a tool always."""
        field = self.page.locator("#keep")
        field.fill(name)
        field.press("Enter")

    def ranking(self, ranker: str, kind: str = ":not(.cut)") -> list[str]:
        names = f"[data-ranker={ranker}] .ranking{kind} .name"
        return self.page.locator(names).all_text_contents()  # they may be folded

    def first(self, name: str, ranker: str = "hybrid") -> None:
        """Wait until a ranker has a tool first."""
        expect(self.page.locator(f"[data-ranker={ranker}] .name").first).to_have_text(name)


def visited(browser: Browser, server: Process, **context: Any) -> Iterator[Visit]:
    opened = browser.new_context(**context)
    opened.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.set_default_timeout(10_000)
    visit = Visit(opened.new_page(), server)
    visit.open()
    yield visit
    opened.close()
