"""What goes out together."""

import asyncio
from collections.abc import Callable

import pytest

from toolscout.serving.transport import OneWrite


class Wire(asyncio.Transport):
    """Takes down what is written, and the end."""

    def __init__(self) -> None:
        super().__init__({"peername": "caller"})
        self.sent: list[bytes | None] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.closed = True
        self.sent.append(None)

    def is_closing(self) -> bool:
        return self.closed


def sent(*actions: Callable[[OneWrite], None]) -> list[bytes | None]:
    """Return what the actions, all in one turn of the loop, send."""

    async def main() -> list[bytes | None]:
        wire = Wire()
        transport = OneWrite(wire)
        for action in actions:
            action(transport)
        await asyncio.sleep(0)
        return wire.sent

    return asyncio.run(main())


def writing(data: bytes) -> Callable[[OneWrite], None]:
    return lambda transport: transport.write(data)


def closing(transport: OneWrite) -> None:
    transport.close()


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([writing(b"head "), writing(b"body")], [b"head body"]),
        ([writing(b"head"), writing(b"")], [b"head"]),
        ([writing(b"head")], [b"head"]),
        ([writing(b"a"), writing(b"b"), writing(b"c")], [b"ab", b"c"]),
        ([writing(b"head"), closing], [b"head", None]),
        ([writing(b"head "), writing(b"body"), closing], [b"head body", None]),
    ],
)
def test_two_writes_are_one_and_none_is_lost(
    actions: list[Callable[[OneWrite], None]], expected: list[bytes | None]
):
    assert sent(*actions) == expected


def test_what_is_held_is_dropped_when_the_caller_has_gone():
    async def main() -> list[bytes | None]:
        wire = Wire()
        transport = OneWrite(wire)
        transport.write(b"head")
        wire.close()
        await asyncio.sleep(0)
        return wire.sent

    assert asyncio.run(main()) == [None]
