"""`make prompt-cost`: what the prompts of a conversation cost, by the way tools are shown.

python -m evals.prompt_cost --tools FILE --docs docs/client.md --litellm PROGRAM

A conversation has twelve questions of a user; a scripted model calls one tool for each, as its
definition says, after a search where its prompt lacks the tool. FILE is a JSON array of tools, by
default `catalogs/300.json` in TOOLSCOUT_DATA, or else the tools of the playground's samples. Tokens
are those of `o200k_base`. A token that an earlier request of the conversation began with costs a
share of the price, by default a tenth; definitions that a provider loads by itself count where
they are loaded. PROGRAM is an installed LiteLLM with its proxy and this package; without it the
table has no rows of LiteLLM.
"""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from evals import docs
from evals.mcp_tokens.agent import count
from evals.prompt_cost.litellm import Proxy, litellm
from evals.prompt_cost.models import INTERFACES, Json, Model
from evals.prompt_cost.thinking import THINKING
from evals.speed.servers import Running, toolscout
from evals.speed.traffic import catalogs
from toolscout.discovery import ToolDiscovery
from toolscout.playground import load_static_files
from toolscout.tools.shapes import read_texts, schema_of
from toolscout.tools.summary import cut_first_sentence

QUESTIONS = 12
CACHED = 0.1
"""Price of a cached token, against one that is not; some providers take a quarter, or half."""


class Way(NamedTuple):
    """One way to show tools."""

    title: str
    interface: str
    options: dict[str, Any] | None
    """Those of the flow; None: every tool in every request."""
    before: int = 0
    """Conversations of the same questions that the flow has seen."""
    thinks: bool = False
    """Whether the model is Claude with thinking on."""


WAYS = (
    Way("all tools (chat completions take 128 at most)", "anthropic", None),
    Way("loaded by Anthropic", "anthropic", {}),
    Way("loaded by OpenAI (Responses), unconfirmed", "openai-responses", {}),
    Way("emulated for Anthropic", "anthropic", {"native": False}),
    Way("the same, `dispatch: off`", "anthropic", {"native": False, "dispatch": "off"}),
    Way("emulated for chat completions", "openai", {}),
    Way("the same, `dispatch: on`", "openai", {"dispatch": "on"}),
    Way("the same, `dispatch: off`", "openai", {"dispatch": "off"}),
    Way("chat completions, `ask_every_turn: false`", "openai", {"ask_every_turn": False}),
    Way("chat completions, tools that the service knows", "openai", {}, 1),
    Way("thinking, loaded by Anthropic", "anthropic", {}, thinks=True),
    Way("thinking, emulated for Anthropic", "anthropic", {"native": False}, thinks=True),
    Way("thinking, emulated for chat completions", "openai", {}, thinks=True),
)


THROUGH_LITELLM = (
    Way("LiteLLM, `/v1/messages`, Claude", "anthropic", None),
    Way("LiteLLM, `/v1/responses`, GPT, unconfirmed", "openai-responses", None),
    Way("LiteLLM, `/v1/chat/completions`", "openai", None),
)
"""Ways through the proxy of LiteLLM, which has the callback with its defaults."""


def main() -> int:
    """Print the table, and write it where told to; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.prompt_cost", description=__doc__)
    parser.add_argument("--tools", type=Path, help="JSON array of tools")
    parser.add_argument("--docs", type=Path, help="also write the table into its block here")
    parser.add_argument("--litellm", type=Path, help="the program of LiteLLM")
    about = f"price of a cached token, against one that is not ({CACHED})"
    parser.add_argument("--cached-price", type=float, default=CACHED, help=about)
    parsed = parser.parse_args()
    folder = catalogs(None)
    file = parsed.tools or (folder and folder / "300.json")
    tools = samples() if file is None else json.loads(file.read_text("utf-8"))
    if len(tools) < QUESTIONS:
        parser.error(f"expected at least {QUESTIONS} tools, got {len(tools)}")
    text = table(tools, parsed.litellm, parsed.cached_price)
    print(text)
    if parsed.docs and file is None:
        print(
            f"{parsed.docs} keeps its table of 300 tools: TOOLSCOUT_DATA names no folder with them"
        )
    elif parsed.docs:
        docs.write(parsed.docs, "prompt-cost", distinct(text))
    return 0


def distinct(text: str) -> str:
    """Leave out rows whose figures are those of an earlier row."""
    rows: dict[str, str] = {}
    for line in text.splitlines():
        rows.setdefault(line.partition(" | ")[2] or line, line)
    return "\n".join(rows.values())


def samples() -> list[Any]:
    """Return the tools of the playground's samples: what a clone alone has."""
    files = [load_static_files()[f"{name}.json"].content for name in ("platform", "assistant")]
    return [tool for content in files for tool in json.loads(content)["tools"]]


Ask = Callable[[Json], Json]
"""Returns the answer to a request of a caller."""


def table(tools: list[Any], program: Path | None, cached: float) -> str:
    """Hold the conversation in each way, and return the table.

    Each begins with a service that has never seen the tools, as a user's first conversation does.
    """
    lines = [
        f"| scripted model, {len(tools)} tools, {QUESTIONS} questions | model calls |"
        " prompt tokens | cached | cost | calls made |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for way in WAYS:
        with toolscout() as service:
            lines.append(row(way, directly(tools, way, _address(service)), cached))
    if program is not None:
        with toolscout() as service, litellm(program, _address(service)) as proxy:
            lines += [row(way, through(proxy, tools, way), cached) for way in THROUGH_LITELLM]
    return "\n".join(lines)


def _address(service: Running) -> str:
    return f"http://127.0.0.1:{service.port}"


def directly(tools: list[Any], way: Way, url: str) -> Model:
    """Hold the conversation with a flow in this process."""
    options: dict[str, Any] = {"learn": False, **(way.options or {})}
    options |= {"observers": None, "turn_observers": None}
    with closing(ToolDiscovery(url, **options)) as discovery:
        for others in range(way.before, -1, -1):
            model = Model((THINKING if way.thinks else INTERFACES)[way.interface], count)

            def ask(request: Json, model: Model = model) -> Json:
                return discovery.complete(request, model.forward, model.interface.name)

            hold(tools, model, model.forward if way.options is None else ask, others)
    return model


def through(proxy: Proxy, tools: list[Any], way: Way) -> Model:
    """Hold the conversation through LiteLLM."""
    proxy.model = model = Model(INTERFACES[way.interface], count)
    hold(tools, model, lambda request: proxy.ask(request, way.interface))
    return model


def row(way: Way, model: Model, cached: float) -> str:
    """Return a row of the table."""
    cost = model.prompt - (1 - cached) * model.cached
    share = model.cached / model.prompt
    counts = f"{model.requests} | {model.prompt:,} | {share:.1%} | {cost:,.0f}"
    return f"| {way.title} | {counts} | {model.made} of {QUESTIONS} |"


def hold(tools: list[Any], model: Model, ask: Ask, others: int = 0) -> None:
    """Hold the conversation; the model counts what it sees. So many `others` follow it."""
    interface = model.interface
    named: list[tuple[str, str, Any]] = [
        (*read_texts(tool), schema_of(tool) or tool.get("definition") or {}) for tool in tools
    ]
    shapes = [interface.tool(*about) for about in named]
    messages: list[Any] = []
    for name, description, _ in named[:: len(named) // QUESTIONS][:QUESTIONS]:
        asked = cut_first_sentence(description) or name
        model.want(name, asked)
        said = f"Please do this {'again ' * others}for me: {asked}"  # else all were one
        messages.append({"role": "user", "content": said})
        while True:
            answer = ask(interface.request(messages, shapes))
            messages += interface.added(answer)
            model.made += name in interface.calls(answer).values()
            if not interface.calls(answer):
                break


if __name__ == "__main__":
    sys.exit(main())
