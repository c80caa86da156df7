"""What every caller must get through, with a real service and a model that refuses."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from tests.client.upstream import Peer, peer
from tests.turns.model import SLOW_DOWN, ScriptedModel
from tests.turns.rules import DECLARED, has_thought, visible
from toolscout.turns.drivers.exchange import PATHS

THINKING = "thinking"
PICTURES = "20 pictures"
STRICT = "strict tools"
DEAD = "http://127.0.0.1:9"
QUESTION = "write an email to a@b.example"
THINGS = (
    "pallet crate shelf forklift delivery invoice_line barcode conveyor dock stock_level picker "
    "carrier label customs_form scale"
)
VERBS = (
    "count move weigh scan paint inspect rent list archive restore print merge split lock unlock "
    "rename tag audit export import"
)
ABOUT = {
    f"{thing}_{verb}": f"{verb.capitalize()} a {thing.replace('_', ' ')} of the warehouse"
    for thing in THINGS.split()
    for verb in VERBS.split()
}
ABOUT |= {
    "send_email": "Send an email to an address",
    "read_file": "Read a text file from disk",
    "create_issue": "Open an issue in the bug tracker",
}
"""303 tools."""


class Running(Protocol):
    """A caller with its tools, before a model."""

    def ask(self, text: str) -> list[str]:
        """Answer a question; the names of the tools that were called."""

    def drop(self, name: str) -> None:
        """Remove a tool from the next requests."""

    def close(self) -> None:
        """Close all connections."""


class Caller(NamedTuple):
    """One way to use Toolscout."""

    name: str
    lines: str
    """What its user writes."""
    start: Callable[..., Running]
    """From the model's address, the service's address, the tools, and the options of a case."""
    cannot: Sequence[str] = ()
    """Cases that its library has no way to express."""
    can: Sequence[str] = ()
    """Further cases that it has been written for."""
    ends: str = ""
    """The tool with which its runs end; the caller fails where it is not called."""

    def can_run(self, title: str) -> bool:
        """Whether a case is one for this caller."""
        return title in self.can if title in FURTHER else title not in self.cannot


class CallerError(Exception):
    """An error that a caller's own code has raised; `kinds` are the names of its classes."""

    def __init__(self, text: str, kinds: Sequence[str]) -> None:
        super().__init__(text)
        self.kinds = kinds


def plain(caller: Caller, service: str) -> str:
    """One question, one call."""
    return _asked(caller, service, QUESTION, ["send_email"])


def streaming(caller: Caller, service: str) -> str:
    """Return the same in a stream."""
    return _asked(caller, service, QUESTION, ["send_email"], streams=True)


def forced(caller: Caller, service: str) -> str:
    """Return the caller forces a tool that the question says nothing of."""
    model = ScriptedModel(wants="create_issue")
    return _asked(caller, service, QUESTION, ["create_issue"], model, forced="create_issue")


def parallel(caller: Caller, service: str) -> str:
    """Two calls in one response."""
    model = ScriptedModel(also="create_issue")
    question = "write an email to a@b.example and open an issue"
    return _asked(caller, service, question, ["send_email", "create_issue"], model)


def removed(caller: Caller, service: str) -> str:
    """Return the history names a tool that is not offered any more."""
    model = ScriptedModel()
    with _running(caller, model, service) as (running, _):
        running.ask(QUESTION)
        running.drop("send_email")
        model.wants, model.query = "read_file", "read a file"
        return _verdict(running.ask("read the text file"), ["read_file"], model)


def outage(caller: Caller, service: str) -> str:
    """Return the service is gone."""
    return _asked(caller, DEAD, QUESTION, ["send_email"])


def no_match(caller: Caller, service: str) -> str:
    """Nothing fits, and the model is told so."""
    model = ScriptedModel(wants="no_such_tool")
    model.query = "zxqv wvut qqrs"
    return _asked(caller, service, "zxqv wvut qqrs", [], model)


def forbidden(caller: Caller, service: str) -> str:
    """Return the caller forbids calls, and then allows them again."""
    model = ScriptedModel()
    with _running(caller, model, service, forced="none") as (running, _):
        first = _verdict(running.ask(QUESTION), [], model)
        return first if first != "yes" else _verdict(running.ask(QUESTION), ["send_email"], model)


def twelve_turns(caller: Caller, service: str) -> str:
    """Twelve questions of one conversation, each with another tool."""
    model = ScriptedModel()
    with _running(caller, model, service) as (running, _):
        for turn, name in enumerate(list(ABOUT)[::25][:TURNS], 1):
            model.wants, model.query = name, ABOUT[name]
            told = _verdict(running.ask(f"please {ABOUT[name].lower()}"), [name], model)
            if told != "yes":
                return f"turn {turn}: {told}"
    return "yes"


def limited(caller: Caller, service: str) -> str:
    """Refuse what follows a search in a stream: the SDK raises an error with the reason."""
    model = ScriptedModel()
    model.limited = True
    with _running(caller, model, service, streams=True) as (running, _):
        try:
            called = running.ask(QUESTION_OF_NONE)
        except Exception as error:
            kinds = getattr(error, "kinds", [kind.__name__ for kind in type(error).__mro__])
            is_own = kinds[0] == PLAIN_ERROR or any(kind.endswith(OWN_ERRORS) for kind in kinds)
            is_told = is_own and SLOW_DOWN in str(error)
            return "yes" if is_told else f"raised {kinds[0]}: {error}"[:120]
        return f"called {', '.join(called) or 'nothing'}"


def thinking(caller: Caller, service: str) -> str:
    """Claude thinks before its calls, in streams, and refuses calls that come without."""
    model = ScriptedModel()
    with _running(caller, model, service, streams=True, thinks=True) as (running, _):
        told = _asked_one_by_one(running, model)
        turns = [one for one in model.requests[-1]["messages"] if one["role"] == "assistant"]
        is_kept = all(has_thought(turn["content"]) for turn in turns)
        return told if is_kept else f"{told}, thoughts are lost"


def pictures(caller: Caller, service: str) -> str:
    """Twenty pictures of 2 MB in the history: the model goes on to see few tools."""
    model = ScriptedModel()
    with _running(caller, model, service, pictures=20) as (running, upstream):
        running.ask(QUESTION)
        model.wants, model.query = "read_file", "read a file"
        told = _verdict(running.ask("read the text file"), ["read_file"], model)
        seen = _bytes_seen(upstream.requests[-1])
        return told if told != "yes" or seen < FEW_BYTES else f"all {seen / 1_000:.1f} kB"


def strict(caller: Caller, service: str) -> str:
    """Every field is required; one may be null, and the model leaves it out where it can."""
    model = ScriptedModel({"path": "a@b.example", "note": None})
    model.leaves_out = "note"
    with _running(caller, model, service, strict=True) as (running, _):
        return _asked_one_by_one(running, model)


def bytes_seen(caller: Caller, service: str) -> str:
    """Bytes of the definitions that the model saw at most, of all."""
    model = ScriptedModel()
    with _running(caller, model, service) as (running, upstream):
        running.ask(QUESTION)
        seen = max(_bytes_seen(exchange) for exchange in upstream.requests)
        every = len(json.dumps(list(ABOUT.items())))
    return f"{seen / 1_000:.1f} kB" if seen < every else f"all {seen / 1_000:.1f} kB"


QUESTION_OF_NONE = "please do what is written in my notes"
"""A question that shows none of the tools that the model wants, so that it has to search."""

TURNS = 12
FEW_BYTES = 10_000
"""Of definitions: all of them have more than 40,000."""

FURTHER = {THINKING: thinking, PICTURES: pictures}
"""Cases for callers that have been written for them."""

OWN_ERRORS = ("APIError", "APICallError", "ProviderError")
"""How the names of SDKs' errors end that say what the provider has said."""

PLAIN_ERROR = "Error"
"""What Mastra raises for an error in a stream: it has no class of its own for that."""

SEEN = "303 tools, bytes seen"
"""The case that measures."""

CASES = {
    "plain": plain,
    "12 turns": twelve_turns,
    "streaming": streaming,
    "forced choice": forced,
    "parallel calls": parallel,
    "removed tools in the history": removed,
    "outage": outage,
    "no match": no_match,
    "`tool_choice: none`": forbidden,
    "429 within a stream": limited,
    STRICT: strict,
    **FURTHER,
    SEEN: bytes_seen,
}


def _asked(  # what differs between cases
    caller: Caller,
    service: str,
    question: str,
    expected: list[str],
    model: ScriptedModel | None = None,
    **options: Any,
) -> str:
    model = model or ScriptedModel()
    with _running(caller, model, service, **options) as (running, _):
        return _verdict(running.ask(question), expected, model)


def _asked_one_by_one(running: Running, model: ScriptedModel) -> str:
    """Ask for three tools; the last one is called through a constant tool, if that is there."""
    for name in ("send_email", "read_file", "create_issue"):
        model.wants, model.query = name, ABOUT[name]
        told = _verdict(running.ask(f"please {ABOUT[name].lower()}"), [name], model)
        if told != "yes":
            return told
    return "yes"


@contextmanager
def _running(
    caller: Caller, model: ScriptedModel, service: str, **options: Any
) -> Iterator[tuple[Running, Peer]]:
    model.ends = caller.ends
    with peer(model) as upstream:
        running = caller.start(upstream.url, service, _own_tools(caller), **options)
        try:
            yield running, upstream
        finally:
            running.close()


def _own_tools(caller: Caller) -> dict[str, str]:
    """Return the tools with texts of the caller's own, so that its first question meets a new list.

    As in use: nobody compiles a list before it is asked about.
    """
    place = f"warehouse {crc32(caller.name.encode()) % 10_000}"
    return {name: about.replace("the warehouse", place) for name, about in ABOUT.items()}


def _verdict(called: list[str], expected: list[str], model: ScriptedModel) -> str:
    if model.refused:
        return f"refused: {model.refused[0]}"
    is_well = sorted(called) == sorted(expected)  # calls of one response may run side by side
    return "yes" if is_well else f"called {', '.join(called) or 'nothing'}"


def _bytes_seen(exchange: Any) -> int:
    interface = next((name for end, name in PATHS if exchange.path.endswith(end)), None)
    if interface is None or not exchange.body:  # a proxy that looks around
        return 0
    body = exchange.json
    names = set(visible(interface, body))
    declared = [one for tool in body.get("tools", []) for one in tool.get(DECLARED, [tool])]
    return len(json.dumps([tool for tool in declared if _name(tool) in names]))


def _name(tool: Any) -> Any:
    return tool.get("name") or tool.get("function", {}).get("name")
