"""The prompts of the gateway: find a tool for a task, and see which servers answer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastmcp.exceptions import PromptError
from fastmcp.prompts import Prompt
from fastmcp.prompts.base import PromptArgument

from toolscout.gateway.mcp.gateway import Gateway, Status
from toolscout.tools.advice import Ways, best_tool, no_tool

WAYS = Ways(
    schema="tool_info",
    call="Call it with call_tool, and with the token that tool_info shows if there is one.",
)


class Written(Prompt):
    """A prompt of one text."""

    write: Callable[[Mapping[str, Any]], Awaitable[str]]

    async def render(self, arguments: dict[str, Any] | None = None) -> str:
        """Return the text for some arguments."""
        return await self.write(arguments or {})


def prompts(gateway: Gateway) -> list[Prompt]:
    """Return the prompts to offer."""

    async def find_tool(arguments: Mapping[str, Any]) -> str:
        task = arguments.get("task")
        if not isinstance(task, str) or not task.strip():
            raise PromptError("task: expected a text")
        size = len((await gateway.ready()).tools)
        found = await gateway.best(task)
        if found is None:
            return no_tool(task, size)
        return best_tool(task, found.tool, found.others, WAYS, is_clear=found.is_clear)

    async def backend_status(_: Mapping[str, Any]) -> str:
        await gateway.ready()
        return "\n".join(_state(one) for one in gateway.status())

    return [
        Written(
            name="find_tool",
            title="Find a tool",
            description="Search a tool for a task, and show how to call the best one",
            arguments=[
                PromptArgument(name="task", description="What you want to do", required=True)
            ],
            write=find_tool,
        ),
        Written(
            name="backend_status",
            title="Status of the servers",
            description="Which servers answer, and how many tools of each are offered",
            write=backend_status,
        ),
    ]


def _state(server: Status) -> str:
    """Return the state of a server in a line."""
    tools = f"{server.tools} tool" if server.tools == 1 else f"{server.tools} tools"
    line = f"{server.name}: answers, {tools}"
    if server.reason is not None:
        kept = f"; {tools} of its last list cannot be called" if server.tools else ""
        line = f"{server.name}: does not answer: {server.reason}{kept}"
    return f"{line}; left out: {server.left_out}" if server.left_out else line
