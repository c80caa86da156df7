"""Completions: the names of catalogs and tools that begin with what is typed."""

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    PromptReference,
)

from toolscout.errors import CatalogUnknown
from toolscout.index import pages
from toolscout.server.calls.catalog_reads import AT_ONCE
from toolscout.server.compiling.work_threads import beside
from toolscout.server.mcp.errors import or_error
from toolscout.server.mcp.reading import catalog_names, check_name, named_catalog
from toolscout.server.mcp.texts import PROMPTS, TEMPLATES
from toolscout.server.service import Service

MAX_VALUES = 100
"""The specification's limit."""

_PROMPT_ARGUMENTS = {
    prompt.name: {argument.name for argument in prompt.arguments or ()} for prompt in PROMPTS
}
_VARIABLES = {
    template.uri_template: {
        name for name in ("catalog", "name") if f"{{{name}}}" in template.uri_template
    }
    for template in TEMPLATES
}


class Completions:
    """The completions of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def complete(
        self, _: ServerRequestContext, params: CompleteRequestParams
    ) -> CompleteResult:
        """Complete the argument of a prompt, or the variable of a resource template.

        Raises:
            MCPError: there is no such prompt, template, argument or variable.
        """
        ref, argument = params.ref, params.argument
        if isinstance(ref, PromptReference):
            known = _PROMPT_ARGUMENTS.get(ref.name)
        else:
            known = _VARIABLES.get(ref.uri)
        if known is None or argument.name not in known:
            raise MCPError(INVALID_PARAMS, "there is nothing of that name to complete")
        chosen = (params.context and params.context.arguments) or {}
        if argument.name == "catalog":
            values = await or_error(self._catalogs(argument.value))
        elif argument.name == "name":
            values = await or_error(self._tools(argument.value, chosen.get("catalog")))
        else:
            values = []  # a task is anything
        shown = Completion(values=values[:MAX_VALUES], has_more=len(values) > MAX_VALUES)
        return CompleteResult(completion=shown)

    async def _catalogs(self, prefix: str) -> list[str]:
        wanted = prefix.casefold()
        names = await catalog_names(self._service)
        return [name for name in names if name.casefold().startswith(wanted)]

    async def _tools(self, prefix: str, catalog_name: str | None) -> list[str]:
        """Return the tools of the chosen catalog; none until there is one."""
        check_name(prefix)
        try:
            catalog = await named_catalog(self._service, catalog_name)
        except (CatalogUnknown, ValueError):
            return []
        if not prefix.strip():
            return list(catalog.names[: MAX_VALUES + 1])
        return await beside(len(catalog), AT_ONCE, pages.complete, catalog, prefix, MAX_VALUES + 1)
