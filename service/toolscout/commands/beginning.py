"""What a newcomer is shown first: what there is to do, an example of each, and files to fill in."""

import argparse
import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

from toolscout.commands.terminal import DIM, complain
from toolscout.errors import ConfigurationError

FIRST = """\
Toolscout answers which few of many tools a model should see. Begin with one of these:

  toolscout search "open a pull request"            an answer, from the tools of the playground
  toolscout search "read a file" --tools tools.json from yours, in any provider's shape
  toolscout serve                                   the service, with a playground at its address
  toolscout init                                    files of settings, tools and questions
  toolscout evaluate --tools tools.json --questions questions.csv
                                                    how often the right tool is among five
  toolscout proxy --upstream https://api.openai.com/v1 --selector http://127.0.0.1:8080
                                                    before a provider, for an SDK in any language
  toolscout mcp --config mcp.json                   one MCP server in place of all of yours

toolscout --help lists all commands, and toolscout COMMAND --help what each takes.
"""

EXAMPLES = {
    "serve": "toolscout serve --config toolscout.toml --port 8080",
    "check-config": "toolscout check-config --config toolscout.toml",
    "search": 'toolscout search "create an issue" --tools tools.json --explain',
    "evaluate": "toolscout evaluate --tools tools.json --questions questions.csv",
    "lint": "toolscout lint --tools tools.json",
    "suggest": "toolscout suggest --log decisions.log --tools tools.json",
    "learn": "toolscout learn --from calls.jsonl --url http://127.0.0.1:8080",
    "proxy": "toolscout proxy --upstream https://api.openai.com/v1 --selector http://127.0.0.1:8080",
    "mcp": "toolscout mcp --config mcp.json",
    "import": "toolscout import --tools tools.json --catalog mine",
    "init": "toolscout init",
    "backup": "toolscout backup backup.db --store sqlite:toolscout.db",
    "restore": "toolscout restore backup.db --store sqlite:toolscout.db",
    "openapi": "toolscout openapi > openapi.yaml",
    "version": "toolscout version --json",
    "help": "toolscout help search",
    "completion": 'eval "$(toolscout completion bash)"',
}

SETTINGS = """\
# The settings that are changed most; docs/configuration.md has all of them, with their defaults.
# Start with: toolscout serve --config toolscout.toml

host = "127.0.0.1"
port = 8080

# The milliseconds that an answer may take; where meaning takes longer, words alone decide.
latency_budget_ms = 150

# Where registered catalogs and what was learned are kept; "memory" forgets them at the end.
store = "memory"

# Keys go into the environment, never into a file that is copied:
# TOOLSCOUT_API_KEYS="acme=a key of at least 32 characters"
"""

QUESTIONS = """\
query,tools
open a pull request,pr_open
"who is on call, and wake them",oncall_who;oncall_page
what is the weather on mars,
"""
"""Questions about the sample tools; those without a tool are those that none should answer."""

TOOLS = "tools.json"


def add_init_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument of `toolscout init`."""
    about = "where to write them; by default here"
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help=about)


def init(parsed: Any) -> int:
    """Write the files to fill in; returns 0.

    Tools that are there already are kept, and the questions are about them.

    Raises:
        ConfigurationError: there are settings or questions already; nothing is written then.
        ToolscoutError: the tools that are there cannot be read.
    """
    tools = parsed.folder / TOOLS
    settings = parsed.folder / "toolscout.toml"
    questions = parsed.folder / "questions.csv"
    if there := [str(path) for path in (settings, questions) if path.exists()]:
        raise ConfigurationError(f"already there, and left as before: {', '.join(there)}")
    texts = {settings: SETTINGS, questions: QUESTIONS}
    if tools.exists():
        texts[questions] = _write_questions(tools)
    else:
        texts[tools] = _sample_tools()
    parsed.folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, "utf-8")
        print(path)  # noqa: T201  # a command prints
    evaluate = ["toolscout", "evaluate", "--tools", str(tools), "--questions", str(questions)]
    complain(f"replace the questions with your own; then: {shlex.join(evaluate)}", DIM)
    return 0


def _sample_tools() -> str:
    from toolscout.files.reading import SAMPLE

    tools = json.loads(SAMPLE.read_text("utf-8"))["tools"]
    return json.dumps(tools, indent=2, ensure_ascii=False) + "\n"


def _write_questions(tools: Path) -> str:
    """Return questions in the words of the first tools of a file, to be replaced by users'."""
    from toolscout.files.reading import read_file
    from toolscout.tools.summary import cut_first_sentence

    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(("query", "tools"))
    for tool in read_file(tools)[:3]:
        rows.writerow((cut_first_sentence(tool.description or tool.name), tool.name))
    return written.getvalue()
