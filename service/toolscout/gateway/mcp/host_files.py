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


def find_applications(environ: Mapping[str, str], home: Path, system: str = sys.platform) -> Path:
    """Return the folder in which a system has the settings of applications."""
    if system == "darwin":
        return home / "Library" / "Application Support"
    if system == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def list_possible_files(
    environ: Mapping[str, str], home: Path, system: str = sys.platform
) -> list[Path]:
    """Return every file that a host may have for all projects, whether it exists or not."""
    places = ((home, IN_HOME), (find_applications(environ, home, system), IN_APPLICATIONS))
    return [folder / name for folder, names in places for name in names]


def find_project(path: Path, environ: Mapping[str, str], home: Path) -> Path | None:
    """Return the folder of the project to which a file belongs; None if it is of all projects."""
    if path.resolve() in [one.resolve() for one in list_possible_files(environ, home)]:
        return None
    folder = path.absolute().parent
    project = folder.parent if folder.name.startswith(".") else folder
    return None if project == home else project
