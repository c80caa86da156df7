"""What a service imports with and without `mcp = on`."""

import json
import sys
from pathlib import Path

import pytest

from tests.support import environment, ran

PACKAGES = {"fastmcp", "mcp", "mcp_types"}
SCRIPT = """
import asyncio, json, sys
from toolscout.server.app import create_app

async def main():
    events = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive():
        return {"type": next(events)}

    async def send(message):
        if message["type"] == "lifespan.startup.complete":
            print(json.dumps([name.partition(".")[0] for name in sys.modules]))

    await create_app()({"type": "lifespan", "state": {}}, receive, send)

if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("mcp", "expected"), [("off", set()), ("on", PACKAGES - {"fastmcp"})], ids=["off", "on"]
)
def test_the_packages_of_mcp_are_imported_only_if_it_is_on(
    mcp: str, expected: set[str], tmp_path: Path
):
    script = tmp_path / "start.py"  # the worker process imports it, too
    script.write_text(SCRIPT, "utf-8")
    done = ran([sys.executable, script], env=environment(TOOLSCOUT_MCP=mcp))
    (imported,) = [line for line in done.stdout.splitlines() if line.startswith("[")]
    modules, _ = json.JSONDecoder().raw_decode(imported)  # a line of the log may follow at once
    assert PACKAGES & set(modules) == expected
