"""What the loop needs to know of a provider's stream.

Everything flows on at once but the calls of the search tool and the end of the turn: whether a turn
is over is known only when it ends without a search. Several turns of the model become one turn for
the client, numbered through.
"""

from collections.abc import Callable
from typing import Protocol

from toolscout.client.providers.anthropic import Anthropic
from toolscout.client.providers.anthropic_stream import AnthropicStream
from toolscout.client.providers.openai import OpenAIChat
from toolscout.client.providers.openai_stream import OpenAIStream
from toolscout.client.providers.provider import Json


class Stream(Protocol):
    """One turn of the client, made of one or more streams of the model."""

    wrote: bool
    """Whether anything of the model's current turn has gone to the client."""

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes of the model, in any pieces; what may go to the client now."""

    def response(self) -> Json:
        """The model's turn, as the response it would have been without streaming."""

    def next_turn(self) -> None:
        """The model's turn was a search; another begins."""

    def finish(self) -> bytes:
        """The model's turn is the last one; what was held back of its end."""


STREAMS: dict[str, Callable[[str], Stream]] = {
    OpenAIChat.name: OpenAIStream,
    Anthropic.name: AnthropicStream,
}
"""By provider; made with the name of the search tool. Others' streams are not touched."""
