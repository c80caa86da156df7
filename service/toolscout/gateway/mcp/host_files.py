"""Where hosts keep their lists of MCP servers, as their documentation says.

Only files in JSON are here whose servers stand under `mcpServers`, `servers` or `context_servers`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

IN_HOME = (
    ".claude.json",  # Claude Code, its projects included
    ".cursor/mcp.json",
    ".codeium/windsurf/mcp_config.json",
    ".gemini/settings.json",
    ".kiro/settings/mcp.json",
    ".aws/amazonq/mcp.json",
    ".copilot/mcp-config.json",
    ".lmstudio/mcp.json",
)
"""Of all projects, in the home folder on every system."""

IN_APPLICATIONS = (
    "Claude/claude_desktop_config.json",
    "Code/User/mcp.json",  # VS Code
    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
)
"""Of all projects, in the folder in which a system has the settings of applications."""

IN_PROJECT = (
    ".mcp.json",  # Claude Code
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".gemini/settings.json",
    ".kiro/settings/mcp.json",
    ".roo/mcp.json",
)
"""Of one project, in its folder."""


def applications(environ: Mapping[str, str], home: Path, system: str = sys.platform) -> Path:
    """Return the folder in which a system has the settings of applications."""
    if system == "darwin":
        return home / "Library" / "Application Support"
    if system == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def possible_files(
    environ: Mapping[str, str], home: Path, project: Path, system: str = sys.platform
) -> list[Path]:
    """Return every file that a host may have, whether it exists or not."""
    places = (
        (home, IN_HOME),
        (applications(environ, home, system), IN_APPLICATIONS),
        (project, IN_PROJECT),
    )
    paths = [folder / name for folder, names in places for name in names]
    return list(dict.fromkeys(paths))
