"""The search half of code mode: signatures of the tools for a task, and calls from a sandbox.

    pip install .
    python examples/code_mode.py "what is the weather in Rome"

The model writes Python that awaits these functions. Where it runs is your sandbox; each call comes
out of it as a function and arguments, which `call` checks against what the model was shown.
"""

import re
import sys

from toolbox import Json, openai_tools, run

from toolscout import Engine
from toolscout.contract.tools import ToolDetail

engine = Engine(openai_tools())
FUNCTION = re.compile(r"^async def (\w+)", re.MULTILINE)


def show(task: str) -> dict[str, ToolDetail]:
    """Return the tools for a task, by the functions in their signatures; only those that read."""
    found = engine.search(task, detail="stub_python").tools
    return {FUNCTION.findall(tool.stub)[0]: tool for tool in found if tool.stub}


def call(shown: dict[str, ToolDetail], function: str, arguments: Json) -> str:
    """Run a call that comes out of the sandbox; what the model was not shown is refused."""
    tool = shown.get(function)
    return run(tool.name, arguments) if tool else f"there is no function {function}"


if __name__ == "__main__":
    shown = show(" ".join(sys.argv[1:]))
    print("\n\n".join(str(tool.stub) for tool in shown.values()))
