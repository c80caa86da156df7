"""Time limits that are looked at together."""

import asyncio

import pytest

from toolscout.server.http.request import Deadlines


async def turn(deadlines: Deadlines) -> None:
    """Let everything that waits begin to, and look."""
    await asyncio.sleep(0)
    deadlines.expire()


def test_what_comes_in_time_is_passed_on():
    async def main() -> str:
        deadlines, coming = Deadlines(), asyncio.get_running_loop().create_future()
        waiting = asyncio.create_task(deadlines.keep(coming, 60))
        await turn(deadlines)
        coming.set_result("here")
        return await waiting

    assert asyncio.run(main()) == "here"


def test_what_is_overdue_ends_at_the_next_look():
    async def main() -> list[asyncio.Task[str]]:
        deadlines, never = Deadlines(), asyncio.get_running_loop().create_future()
        late = asyncio.create_task(deadlines.keep(never, 0))
        patient = asyncio.create_task(deadlines.keep(asyncio.sleep(0.01, "here"), 60))
        await turn(deadlines)
        await asyncio.wait([late, patient])
        return [late, patient]

    late, patient = asyncio.run(main())
    assert isinstance(late.exception(), TimeoutError)
    assert patient.result() == "here"


def test_a_task_goes_on_after_what_was_overdue():
    async def main() -> str:
        deadlines, never = Deadlines(), asyncio.get_running_loop().create_future()

        async def twice() -> str:
            with pytest.raises(TimeoutError):
                await deadlines.keep(never, 0)
            return await deadlines.keep(asyncio.sleep(0, "here"), 60)

        going = asyncio.create_task(twice())
        await turn(deadlines)
        return await going

    assert asyncio.run(main()) == "here"


def test_who_is_cancelled_by_others_is_cancelled():
    async def main() -> asyncio.Task[str]:
        deadlines, never = Deadlines(), asyncio.get_running_loop().create_future()
        waiting = asyncio.create_task(deadlines.keep(never, 60))
        await turn(deadlines)
        waiting.cancel()
        await asyncio.wait([waiting])
        return waiting

    assert asyncio.run(main()).cancelled()
