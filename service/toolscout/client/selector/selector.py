"""`Selector` and `AsyncSelector`: ask the service which tools to show, and be never worse off.

Whatever the service or the network does, a call returns within its timeout with a usable list of
tools: the service's choice, checked against the tools that were offered, or all of them.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from toolscout.client.errors import InvalidArgument
from toolscout.client.selector.background import Background, Closed
from toolscout.client.selector.request import Result, Step, Verdict
from toolscout.client.selector.selection import Reason, Selection
from toolscout.client.selector.settings import SelectorBase
from toolscout.client.selector.transport import CLOSED, Stage
from toolscout.contract import DEFAULT_TOP_K

logger = logging.getLogger("toolscout.client")


class Selector(SelectorBase):
    """Selects tools for blocking code; safe to share between threads, a context manager.

    The settings are those of `SelectorBase`. Only a mistake of the caller's raises:

        ToolscoutError
        └── InvalidArgument     an argument has the wrong type (also a TypeError)
            └── InvalidTool     an item of `tools` is no tool of any known shape
    """

    def _prepare(self) -> None:
        self._background = Background("toolscout-selector")

    def select(
        self,
        pattern: str,
        tools: Sequence[Any],
        top_k: int | None = DEFAULT_TOP_K,
        always_keep: Collection[str] | None = (),
        *,
        session: str | None = None,
        loop: int = 0,
        fields: Mapping[str, Any] | None = None,
    ) -> Selection:
        """Choose at most `top_k` of the tools.

        Args:
            pattern: prose, keywords, a tool name or a regular expression.
            tools: any provider's shape; dicts, dataclasses, pydantic models.
            top_k: most names to choose; less than 1 is taken as 5, as the proxies do.
            always_keep: names to choose in any case, within `top_k`.
            session: decides on which side of a `percent` rollout the call is.
            loop: which search of one model turn this is; only reported.
            fields: further fields of the request, such as `ranker`, `filters` or `min_score`; a
                service passes over those it does not know.

        Raises:
            InvalidArgument: an argument has the wrong type; nothing else is ever raised.
        """
        call = self._begin(pattern, tools, top_k, always_keep, session, loop, fields)
        steps = self._conversation(call)
        if isinstance(steps, Verdict):
            return self._finish(call, steps)
        try:
            step = next(steps)
            while True:
                step = steps.send(self._perform(step, call.ask.deadline))
        except StopIteration as end:
            verdict = end.value
        except InvalidArgument:
            raise
        except Exception as error:
            verdict = _unexpected(error)
        finally:
            steps.close()
        return self._finish(call, verdict)

    def _perform(self, step: Step, deadline: float) -> Result:
        assert self._transport is not None
        stage = Stage()
        try:
            return self._background.run(self._transport.perform(step, stage), deadline)
        except TimeoutError:
            return self._transport.too_late(stage)
        except Closed:
            return CLOSED

    def close(self) -> None:
        """Close connections and end the thread; a later call starts them anew."""
        if self._transport is not None:
            self._background.close(self._transport.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncSelector(SelectorBase):
    """Selects tools for asyncio code; one instance serves any number of tasks.

    Settings and errors are those of `Selector`; an asynchronous context manager.
    """

    async def select(
        self,
        pattern: str,
        tools: Sequence[Any],
        top_k: int | None = DEFAULT_TOP_K,
        always_keep: Collection[str] | None = (),
        *,
        session: str | None = None,
        loop: int = 0,
        fields: Mapping[str, Any] | None = None,
    ) -> Selection:
        """Choose at most `top_k` of the tools; as `Selector.select`."""
        call = self._begin(pattern, tools, top_k, always_keep, session, loop, fields)
        steps = self._conversation(call)
        if isinstance(steps, Verdict):
            return self._finish(call, steps)
        assert self._transport is not None
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._transport.perform(step))
        except StopIteration as end:
            verdict = end.value
        except InvalidArgument:
            raise
        except Exception as error:
            verdict = _unexpected(error)
        finally:
            steps.close()
        return self._finish(call, verdict)

    async def aclose(self) -> None:
        """Close connections; a later call opens them anew."""
        if self._transport is not None:
            await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


def _unexpected(error: Exception) -> Verdict:
    """A fault of ours, or of a hook's: the caller still gets its tools, the log gets the fault."""
    logger.error("a tool search failed unexpectedly", exc_info=error)
    return Verdict([], Reason.API_ERROR, f"unexpected {type(error).__name__}")
