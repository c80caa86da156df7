"""Callers in node, before `toolscout proxy`."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.callers.cases import Caller, Running
from tests.callers.frameworks import AGENTS, Proxied
from tests.debian import need
from tests.integration.venvs import ROOT
from tests.support import one_by_one

FOLDER = ROOT / ".venv-node"
"""The packages of node, installed on first use."""

PACKAGES = {
    "node": "22",
    "@anthropic-ai/sdk": "1",
    "ai": "7",
    "@ai-sdk/openai": "4",
    "@openai/agents": "0",
    "langchain": "1",
    "@langchain/openai": "1",
    "@mastra/core": "1",
    "zod": "4",
}
"""With a node that is new enough for all of them."""


def in_node(program: str, *form: str) -> Any:
    """Return what starts a program of `agents` in node."""

    def start(url: str, service: str, about: dict[str, str], **options: Any) -> Running:
        folder = _installed()
        for name in ("loop", program):
            text = (AGENTS / f"{name}.mjs").read_text("utf-8")
            (folder / f"{name}.mjs").write_text(text, "utf-8")
        node = folder / "node_modules" / ".bin" / "node"
        command = [node, folder / f"{program}.mjs", *form]
        return Proxied(command, url, service, about, **options)

    return start


def versions() -> dict[str, str]:
    """Return those of the packages, some of which are named as one of Python's is."""
    modules = _installed() / "node_modules"
    found = {name: json.loads((modules / name / "package.json").read_text()) for name in PACKAGES}
    return {f"npm:{name}": str(package["version"]) for name, package in found.items()}


def _installed() -> Path:
    need(recommended=False, node="nodejs", npm="npm")
    with one_by_one():
        if not all((FOLDER / "node_modules" / name).exists() for name in PACKAGES):
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / "package.json").write_text('{"private": true}', "utf-8")
            wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
            command = ["npm", "install", "--loglevel=error", "--no-audit", "--no-fund", *wanted]
            subprocess.run(command, cwd=FOLDER, check=True)
    return FOLDER


CALLERS = [
    Caller("Vercel AI SDK", "0, one variable", in_node("vercel")),
    Caller("OpenAI Agents SDK, node", "0, one variable", in_node("agents_sdk")),
    Caller("LangChain agent, node", "0, one variable", in_node("langchain")),
    Caller("Mastra agent", "0, one variable", in_node("mastra")),
]
