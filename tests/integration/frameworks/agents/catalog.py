"""Forty tools, and what an agent prints."""

import json
from collections.abc import Callable

called: list[str] = []


def send_email(to: str) -> str:
    """Send an email to an address."""
    called.append("send_email")
    return f"sent to {to}"


def spinner(number: int) -> Callable[[int], str]:
    """Make a tool that nobody asks for."""

    def spin(turns: int) -> str:
        called.append(f"spin_{number}")
        return f"{turns} turns"

    spin.__name__ = spin.__qualname__ = f"spin_{number}"
    spin.__doc__ = f"Spin gadget {number} around its axis."
    return spin


FUNCTIONS: list[Callable[..., str]] = [*map(spinner, range(39)), send_email]


def finish(answer: object) -> None:
    """Print the answer and the calls for the test."""
    print(json.dumps({"answer": str(answer), "called": called}))
