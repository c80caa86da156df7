"""References of a document: within it, and to other files of its folder.

Nothing is fetched from the net, and nothing outside the folder is read, wherever links lead.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from toolscout.errors import ToolscoutError
from toolscout.tools.schemas import follow

MAX_STEPS = 12
"""References that are followed one after another until there is a value."""

MAX_FILES = 1_000
"""Other files that are read for one document."""

MAX_FILE_BYTES = 64 << 20
"""Bytes of all of them."""

_NOTHING: Mapping[str, Any] = {}

LoadFile = Callable[[Path], Any]
"""Returns the values of a file."""


class DocumentValue(NamedTuple):
    """A value, and the document in which its references are."""

    value: Any
    document: Any
    file: Path | None
    """The document's file, whose folder other files are named from; None of standard input."""

    def below(self, value: Any) -> "DocumentValue":
        """Return a value within this one."""
        return DocumentValue(value, self.document, self.file)


class References:
    """Follows references; what leads nowhere is remembered."""

    def __init__(self, load: LoadFile, root: Path | None = None) -> None:
        """Follow those of a document of this file, if it is one; others are loaded by `load`."""
        self.lost: dict[str, None] = {}
        """References that lead nowhere, or outside."""
        self._load = load
        self._folder = root.resolve().parent if root is not None else None
        self._left_bytes = MAX_FILE_BYTES
        self._read: dict[Path, Any] = {}
        self._resolved: dict[int, tuple[Any, DocumentValue]] = {}
        """What references lead to, by the identity of what holds them, which is kept alive."""

    def resolve(self, place: DocumentValue) -> DocumentValue:
        """Return what a reference leads to, with the words beside it; always the same object.

        What leads nowhere, or in a circle, is empty, and so is what is no object.
        """
        if not isinstance(place.value, Mapping):
            return place.below(_NOTHING)
        if not isinstance(place.value.get("$ref"), str):
            return place
        known = self._resolved.get(id(place.value))
        if known is None:
            known = self._resolved[id(place.value)] = place.value, self._resolve(place)
        return known[1]

    def is_read_only(self, place: DocumentValue) -> bool:
        """Return whether a property is only in answers, so that no caller gives it."""
        return self.resolve(place).value.get("readOnly") is True

    def _resolve(self, place: DocumentValue) -> DocumentValue:
        beside: dict[str, Any] = {}
        for _ in range(MAX_STEPS):
            value = place.value
            reference = value.get("$ref") if isinstance(value, Mapping) else None
            if not isinstance(reference, str):
                break
            own = {key: one for key, one in value.items() if key != "$ref"}
            beside = join_schemas(own, beside)
            place = self._follow(place, reference)
        if not isinstance(place.value, Mapping) or isinstance(place.value.get("$ref"), str):
            return place.below(_NOTHING)
        return place.below(join_schemas(place.value, beside)) if beside else place

    def _follow(self, place: DocumentValue, reference: str) -> DocumentValue:
        file, _, pointer = reference.partition("#")
        there = self._open(place, file) if file else place
        value = None if there is None else follow(there.document, f"#{pointer}")
        if there is None or value is None:
            self.lost.setdefault(reference)
            return place.below(_NOTHING)
        return there.below(value)

    def _open(self, place: DocumentValue, name: str) -> DocumentValue | None:
        """Return the document of another file of the folder."""
        if self._folder is None or place.file is None or ":" in name:
            return None
        try:
            path = (place.file.parent / unquote(name)).resolve()
            if not path.is_relative_to(self._folder) or not path.is_file():
                return None
            if path not in self._read:
                self._left_bytes -= path.stat().st_size
                if self._left_bytes < 0 or len(self._read) >= MAX_FILES:
                    return None
                self._read[path] = None  # also if it cannot be read: it is not tried again
                self._read[path] = self._load(path)
        except (OSError, ValueError, ToolscoutError):
            return None
        document = self._read[path]
        return None if document is None else DocumentValue(document, document, path)


def join_schemas(schema: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with what another one adds; of one keyword the other's is more specific."""
    joined = {**schema, **more}
    for key in ("properties", "required"):
        one = schema.get(key)
        other = more.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            joined[key] = {**one, **other}
        elif isinstance(one, list) and isinstance(other, list):
            joined[key] = [*one, *other]
    return joined
