"""Rules of the contract between a proxy and a selector, in the words of any backend."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import httpx2

from evals.conformance.backend import Backend, BrokenRuleError

Check = Callable[[Backend], None]


class Rule(NamedTuple):
    """A rule in words, and what raises `BrokenRuleError` where a backend does not keep it."""

    group: str
    text: str
    check: Check


GROUPS = {
    "answers": "what every answer contains",
    "pins": "names that are always kept",
    "lists": "the lists that proxies post",
    "shapes": "the tools of every provider",
    "wrong": "what is refused, and how",
    "newer": "the newer contract, at its own path",
}
"""What each group of rules is about."""

TOPICS = {
    "read_file": "Read a text file from the disk",
    "delete_file": "Delete a file from the disk",
    "send_email": "Send an e-mail message to an address",
    "get_weather": "Show the weather forecast of a city",
    "create_invoice": "Create an invoice for a customer",
    "translate_text": "Translate a text into another language",
    "book_flight": "Book a flight between two airports",
    "list_pods": "List the pods of a cluster",
    "play_song": "Play a song on a speaker",
    "convert_currency": "Convert an amount of money into another currency",
}
TOOLS: list[Any] = [{"name": name, "description": about} for name, about in TOPICS.items()]
ASKED = "send an e-mail to Ann"
ANSWER = "send_email"


class Rules(list[Rule]):
    """Rules in the order in which they are asked."""

    def __call__(self, group: str, text: str) -> Callable[[Check], Check]:
        """Add a function as a rule."""

        def add(check: Check) -> Check:
            self.append(Rule(group, text, check))
            return check

        return add


def find_broken(backend: Backend, rules: Iterable[Rule]) -> dict[str, str]:
    """Ask rules; returns the texts of those that are not kept, with what happened instead."""
    broken = {}
    for rule in rules:
        try:
            rule.check(backend)
        except (BrokenRuleError, httpx2.HTTPError) as error:
            broken[rule.text] = str(error) or type(error).__name__
    return broken
