"""Tools in names and keys that a provider takes, and arguments in either language.

    renamed = RenamedTool("anthropic", {"name": "list_calls", …"StartTime<"…}, "list_calls", ())
    rename_keys({"StartTime_": "2026-01-01"}, renamed.own)   → {"StartTime<": "2026-01-01"}

What comes out depends on the tool alone, so nothing has to be remembered. A clean key is none of
the tool's own, and ends as keys of free data hardly do: it is given back wherever it is.
"""

from collections.abc import Collection, Mapping
from typing import Any

from toolscout.tools.naming import find_free, spell_key, spell_name
from toolscout.tools.refused import LISTS, MAPS, SINGLE, can_take_key, can_take_name, list_keys
from toolscout.tools.shapes import INPUT_EXAMPLES, as_mapping, core_of, schema_of

_VALUES = ("default", "const", "enum", "examples")
"""Keywords that hold arguments."""


class RenamedTool:
    """A tool as a provider takes it.

    Args:
        provider: the name of the interface.
        tool: as its caller wrote it, in any shape.
        name: that of the tool; it stays unless it is refused.
        taken: the names of the others.

    Raises:
        RecursionError: the schema is nested too deeply.
    """

    def __init__(self, provider: str, tool: Any, name: str, taken: Collection[str]) -> None:
        fields = as_mapping(tool)
        core = core_of(fields)
        self._schema = schema_of(fields)
        self.clean: dict[str, str] = {}
        """Keys that are refused, and those that go out instead of them."""
        keys = list_keys(self._schema)
        for key in sorted(keys):
            if not can_take_key(provider, key):
                self.clean[key] = find_free(spell_key(key), {*keys, *self.clean.values()})
        self.own = {clean: key for key, clean in self.clean.items()}
        is_taken = can_take_name(provider, name)
        self.name = name if is_taken else find_free(spell_name(name) or "tool", taken)
        changed = {key: self._write_part(key, value) for key, value in core.items()}
        changed["name"] = self.name
        if core is not fields:
            changed = {key: changed if one is core else one for key, one in fields.items()}
        self.definition = changed

    def _write_part(self, key: str, value: Any) -> Any:
        """Return a part of the definition in the clean language."""
        if key in INPUT_EXAMPLES:
            return rename_keys(value, self.clean)
        if isinstance(value, Mapping) and value.get("json") is self._schema:  # Bedrock's
            return {**value, "json": self._write(self._schema)}
        return self._write(value) if value is self._schema else value

    def _write(self, schema: Any) -> Any:
        """Return a schema, or a list of them, in the clean language."""
        if isinstance(schema, list):
            return [self._write(one) for one in schema]
        if not isinstance(schema, Mapping):
            return schema
        return {key: self._write_keyword(key, value) for key, value in schema.items()}

    def _write_keyword(self, key: str, value: Any) -> Any:
        if key in _VALUES:
            return rename_keys(value, self.clean)
        if key in ("required", "dependentRequired"):
            return self._write_names(value)
        if key in MAPS and isinstance(value, Mapping):
            names = self.clean if key in ("properties", "dependentSchemas") else {}
            return {names.get(name, name): self._write(one) for name, one in value.items()}
        return self._write(value) if key in LISTS or key in SINGLE else value

    def _write_names(self, names: Any) -> Any:
        """Return names, whether one, a list or by others, in the clean language."""
        if isinstance(names, Mapping):
            return {self._write_names(one): self._write_names(them) for one, them in names.items()}
        if isinstance(names, list):
            return [self._write_names(one) for one in names]
        return self.clean.get(names, names) if isinstance(names, str) else names


def rename_keys(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value with other keys at every depth; itself where it has none of these.

    A key whose other one is there as well stays, so that neither is lost.
    """
    renamed = value
    if isinstance(value, list):
        renamed = [rename_keys(one, names) for one in value]
    elif isinstance(value, Mapping):
        renamed = {
            key if names.get(key) in value else names.get(key, key): rename_keys(one, names)
            for key, one in value.items()
        }
    return value if renamed == value else renamed
