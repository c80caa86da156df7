"""`make prompt-cost`: what the prompts of a conversation cost, by the way tools are shown.

python -m evals.prompt_cost --tools FILE --docs docs/client.md

A conversation has twelve questions of a user; a scripted model calls one tool for each, after a
search where its prompt lacks the tool. FILE is a JSON array of tools, by default
`catalogs/300.json` in TOOLSCOUT_DATA. Tokens are those of `o200k_base`. A token that an earlier
request of the conversation began with counts a tenth, as providers bill it; definitions that
a provider loads by itself count where they are loaded.
"""

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from evals import docs
from evals.mcp_tokens.agent import count
from evals.prompt_cost.models import INTERFACES, Model
from evals.speed.servers import toolscout
from evals.speed.traffic import catalogs
from toolscout.discovery import ToolDiscovery
from toolscout.tools.shapes import schema_of, texts
from toolscout.tools.summary import first_sentence

QUESTIONS = 12
CACHED = 0.1
"""Price of a cached token, against one that is not."""


class Way(NamedTuple):
    """One way to show tools."""

    title: str
    interface: str
    options: dict[str, Any] | None
    """Those of the flow; None: every tool in every request."""
    before: int = 0
    """Conversations of the same questions that the flow has seen."""


WAYS = (
    Way("all tools", "anthropic", None),
    Way("loaded by Anthropic", "anthropic", {}),
    Way("loaded by OpenAI (Responses)", "openai-responses", {}),
    Way("emulated for Anthropic", "anthropic", {"native": False, "dispatch": False}),
    Way("the same, `dispatch`", "anthropic", {"native": False, "dispatch": True}),
    Way("emulated for chat completions", "openai", {"dispatch": False}),
    Way("the same, `dispatch`", "openai", {"dispatch": True}),
    Way("`always_keep: auto`, third such conversation", "openai", {"always_keep": "auto"}, 2),
)


def main() -> int:
    """Print the table, and write it where told to; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.prompt_cost", description=__doc__)
    parser.add_argument("--tools", type=Path, help="JSON array of tools")
    parser.add_argument("--docs", type=Path, help="also write the table into its block here")
    parsed = parser.parse_args()
    folder = catalogs(None)
    file = parsed.tools or (folder and folder / "300.json")
    if file is None:
        print("skipped: no tools; name a file with --tools, or a folder with TOOLSCOUT_DATA")
        return 0
    text = table(json.loads(file.read_text("utf-8")))
    print(text)
    if parsed.docs:
        docs.write(parsed.docs, "prompt-cost", text)
    return 0


def table(tools: list[Any]) -> str:
    """Hold the conversation in each way, and return the table."""
    lines = [
        f"| {len(tools)} tools, {QUESTIONS} questions | requests | prompt tokens | cached | cost |"
        " tools not found |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    with toolscout() as service:
        for way in WAYS:
            model = held(tools, way, f"http://127.0.0.1:{service.port}")
            cost = model.prompt - (1 - CACHED) * model.cached
            lines.append(
                f"| {way.title} | {model.requests} | {model.prompt:,} "
                f"| {model.cached / model.prompt:.1%} | {cost:,.0f} | {model.missed} |"
            )
    return "\n".join(lines)


def held(tools: list[Any], way: Way, url: str) -> Model:
    """Hold the conversation, and return the model with what it has counted."""
    interface = INTERFACES[way.interface]
    named: list[tuple[str, str, Any]] = [
        (*texts(tool), schema_of(tool) or tool.get("definition") or {}) for tool in tools
    ]
    shapes = [interface.tool(*about) for about in named]
    options: dict[str, Any] = {"learn": False, "timeout": 30.0, **(way.options or {})}
    options |= {"observers": None, "turn_observers": None}
    with closing(ToolDiscovery(url, **options)) as discovery:
        # Else the first questions could be answered by words, while the tools are compiled.
        discovery.selector.select("warm up", shapes, fields={"latency_budget_ms": 30_000})
        for number in range(way.before + 1):
            model = Model(interface, count)
            messages: list[Any] = []
            for name, description, _ in named[:: len(named) // QUESTIONS][:QUESTIONS]:
                asked = first_sentence(description) or name
                model.want(name, asked)
                others = "again " * (way.before - number)  # else it were the same conversation
                said = f"Please do this {others}for me: {asked}"
                messages.append({"role": "user", "content": said})
                while True:
                    request = interface.request(messages, shapes)
                    if way.options is None:
                        answer = model.forward(request)
                    else:
                        answer = discovery.complete(request, model.forward, interface.name)
                    messages += interface.added(answer)
                    if not interface.calls(answer):
                        break
    return model


if __name__ == "__main__":
    sys.exit(main())
