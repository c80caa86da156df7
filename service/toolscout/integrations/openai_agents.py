"""Tool selection for the OpenAI Agents SDK, with models of any provider.

    provider = SelectingProvider(AsyncSelector("http://127.0.0.1:8080"), top_k=10)
    await Runner.run(agent, question, run_config=RunConfig(model_provider=provider))

Options: `top_k` (10), the most functions to show, and `always_keep`. Tools of other kinds stay, and
so do those that end a run.
"""

from collections.abc import AsyncIterator
from typing import Any

from agents import FunctionTool, Model, ModelProvider, MultiProvider, ToolSearchTool

from toolscout.client import AsyncSelector
from toolscout.client.call import cut_to_latest, make_sendable
from toolscout.client.offer import Offer
from toolscout.turns.providers.fields import text_of


class SelectingModel(Model):
    """Shows a model the functions that fit the conversation; all if nobody can say."""

    def __init__(self, model: Model, selector: AsyncSelector, **options: Any) -> None:
        self._model = model
        self._selector = selector
        self._options = {"top_k": 10, **options}
        self.close = model.close
        self.get_retry_advice = model.get_retry_advice

    async def get_response(self, **call: Any) -> Any:
        """Call the model with fewer tools; the SDK names its arguments here."""
        shown = await self._shown(call["input"], call["model_settings"], call["tools"])
        return await self._model.get_response(**call | {"tools": shown})

    async def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        """Do the same with a stream; the SDK does not name its arguments here."""
        shown = await self._shown(*args[1:4])
        async for event in self._model.stream_response(*args[:3], shown, *args[4:], **more):
            yield event

    async def _shown(self, input_: Any, settings: Any, tools: list[Any]) -> list[Any]:
        functions = [tool for tool in tools if isinstance(tool, FunctionTool)]
        searched = any(isinstance(tool, ToolSearchTool) for tool in tools)  # by the provider
        forced = settings.tool_choice not in (None, "auto", "required", "none")
        if searched or forced or len(functions) <= self._options["top_k"]:
            return tools
        messages = _read_messages(input_)
        question = next((m["content"] for m in reversed(messages) if "content" in m), "")
        options = {**self._options, "fields": {"messages": messages}}
        selection = await self._selector.select(question, functions, **options)
        offer = Offer(functions)
        names = offer.endings(settings.tool_choice == "required")
        ending = [offer.by_name[name] for name in names if name not in selection.names]
        others = [tool for tool in tools if not isinstance(tool, FunctionTool)]
        return [*selection.tools, *ending, *others]


class SelectingProvider(ModelProvider):
    """Makes such models, by default of those that the SDK knows by name."""

    def __init__(self, selector: AsyncSelector, inner: Any = None, **options: Any) -> None:
        self._inner = inner or MultiProvider()
        self._selector = selector
        self._options = options
        self.aclose = self._inner.aclose

    def get_model(self, model_name: str | None) -> Model:
        """Return a model that is shown fewer tools."""
        return SelectingModel(self._inner.get_model(model_name), self._selector, **self._options)


def _read_messages(input_: Any) -> list[dict[str, Any]]:
    """Return what the user said and which functions were called, as a search reads both."""
    items = input_ if isinstance(input_, list) else [{"role": "user", "content": input_}]
    asked: list[dict[str, Any]] = []
    for item in items:
        if item.get("role") == "user" and (text := text_of(item.get("content"))):
            asked.append({"role": "user", "content": make_sendable(text)})
        elif item.get("type") == "function_call":
            asked.append({"type": "function_call", "name": make_sendable(item["name"])})
    return cut_to_latest(asked)
