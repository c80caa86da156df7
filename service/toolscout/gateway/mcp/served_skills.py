"""Skills that servers offer over MCP, as the extension of SEP-2640 has them.

https://github.com/modelcontextprotocol/ext-skills, specification/stable/skills.mdx. The gateway
passes their entries on, and changes nothing but URIs: a host checks the rest against the files.
"""

from collections.abc import Callable
from typing import Any, Literal

import mcp_types
from pydantic import BaseModel

EXTENSION = "io.modelcontextprotocol/skills"


class Skill(BaseModel, extra="allow"):
    """A skill, by the URI of its SKILL.md."""

    uri: str
    frontmatter: dict[str, Any]
    resources: list[dict[str, Any]] | Literal["dynamic"]
    """Its files, each with `uri`, `digest` and `size`."""

    def rename(self, spell: Callable[[str], str]) -> "Skill":
        """Return it with other URIs."""
        files: Any = self.resources
        if files != "dynamic":
            files = [one | {"uri": spell(str(one.get("uri")))} for one in files]
        return self.model_copy(update={"uri": spell(self.uri), "resources": files})


class SkillParams(mcp_types.RequestParams):
    """Which skill is asked for."""

    uri: str


class ListSkillsResult(mcp_types.PaginatedResult, mcp_types.CacheableResult):
    """A page of skills; of a server's own, what it takes for skills."""

    skills: list[Any]
    result_type: str = "complete"


class GetSkillResult(mcp_types.CacheableResult):
    """One skill."""

    skill: Skill
    result_type: str = "complete"
