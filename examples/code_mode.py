"""The search half of code mode: signatures of the tools for a task, and calls from a sandbox.

    pip install .
    python examples/code_mode.py "what is the weather in Rome"

The model writes Python that awaits these functions. Where it runs is your sandbox; each call comes
out of it as a name and arguments, which `call` checks against what the model was shown.
"""

import sys

from toolbox import Json, openai_tools, run

from toolscout import Engine

engine = Engine(openai_tools())


def show(task: str) -> dict[str, str]:
    """Return the signatures of the tools for a task, by name; only tools that read have one."""
    found = engine.search(task, detail="stub_python").tools
    return {tool.name: tool.stub for tool in found if tool.stub}


def call(shown: dict[str, str], name: str, arguments: Json) -> str:
    """Run a call that comes out of the sandbox; what the model was not shown is refused."""
    return run(name, arguments) if name in shown else f"there is no tool {name}"


if __name__ == "__main__":
    shown = show(" ".join(sys.argv[1:]))
    print("\n\n".join(shown.values()))
