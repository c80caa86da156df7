"""Read a JSON file as hosts do: with comments, trailing commas, and variables of the environment.

A key that is given twice is an error, not silently overwritten.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from toolscout.errors import ConfigurationError, wrong_field

_TEXT = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"({_TEXT})|//[^\n]*|/\*.*?\*/", re.S)
_TRAILING_COMMA = re.compile(rf"({_TEXT})|,(?=\s*[}}\]])", re.S)

_VARIABLE = re.compile(
    r"\$\{(?:input:(?P<input>[\w.-]+)|(?:env:)?(?P<name>[A-Za-z_]\w*))(?::-(?P<default>[^}]*))?\}",
    re.ASCII,
)
"""`${NAME}` and `${NAME:-default}` are Claude Code's spellings, `${env:NAME}` is that of Cursor and
VS Code, whose `${input:NAME}` is asked of a person."""


MAPS = {"env", "environment", "headers", "http_headers"}
"""Keys whose values are objects in which a null stands for nothing."""

S = TypeVar("S", bound=msgspec.Struct)


class _Object(dict[str, Any]):
    """An object that knows the first of its keys that was given twice."""

    repeated: str | None = None


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        ConfigurationError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: not valid UTF-8") from None


def read_object(path: Path) -> dict[str, Any]:
    """Return the object that a file holds.

    Raises:
        ConfigurationError: it cannot be read, is not JSON, holds no object, or has a key twice.
    """
    try:
        text = _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, read_text(path)))
        content = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise ConfigurationError(f"{place}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: nested too deeply") from None
    if not isinstance(content, _Object):
        raise ConfigurationError(f"{path}: expected an object")
    if repeated := _repeated(content, ""):
        raise ConfigurationError(f"{path}: {repeated} is there twice")
    return content


def expand(value: Any, environ: Mapping[str, str], place: str) -> Any:
    """Return a JSON value with the variables of its texts replaced; keys stay as they are.

    Nobody can be asked for an input: it is the variable of its name, `api-key` that of `API_KEY`.

    Raises:
        ConfigurationError: a variable without a default is not set.
    """
    if isinstance(value, str):

        def replacement(match: re.Match[str]) -> str:
            asked, name = match["input"], match["name"]
            variable = name or re.sub(r"\W", "_", asked, flags=re.ASCII).upper()
            text = environ.get(variable, environ.get(name or asked, match["default"]))
            if text is None:
                why = f", in place of the input {asked}" if asked else ""
                raise ConfigurationError(f"{place}: the variable {variable} is not set{why}")
            return text

        return _VARIABLE.sub(replacement, value)
    if isinstance(value, dict):
        return {name: expand(one, environ, f"{place}.{name}") for name, one in value.items()}
    if isinstance(value, list):
        return [expand(one, environ, f"{place}[{n}]") for n, one in enumerate(value)]
    return value


def without_blanks(value: dict[str, Any]) -> dict[str, Any]:
    """Return an entry without keys that say nothing: null, and an empty text."""
    inner = {key: one for key, one in value.items() if one is not None and one != ""}
    for key in MAPS & inner.keys():
        if isinstance(inner[key], dict):
            inner[key] = {name: one for name, one in inner[key].items() if one is not None}
    return inner


def _blank(match: re.Match[str]) -> str:
    """Replace all but texts by spaces, so that errors name the place in the file."""
    return match[1] or re.sub(r"[^\n]", " ", match[0])


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    found = _Object(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        found.repeated = next(name for name in found if names.count(name) > 1)
    return found


def _repeated(value: Any, place: str) -> str | None:
    """Return the path of the first key that is there twice."""
    if isinstance(value, _Object) and value.repeated is not None:
        return f"{place}{value.repeated}"
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    found = (_repeated(one, f"{place}{key}.") for key, one in inner)
    return next(filter(None, found), None)


def checked(value: Any, kind: Any, place: str) -> Any:
    """Convert a value to a type.

    Raises:
        ConfigurationError: it is something else; says where and what.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        wrong = wrong_field(place, error)
        raise ConfigurationError(f"{wrong.path}: {wrong.message}") from None


def converted(value: Any, kind: type[S], place: str) -> S:
    """Convert an object to a struct.

    Raises:
        ConfigurationError: it is none; says where and why.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        wrong = wrong_field(place, error)
        of_field = {field.name: field.type for field in msgspec.structs.fields(kind)}
        choices = _choices(of_field.get(wrong.path.rpartition(".")[2]))
        is_choice = wrong.message == "Invalid enum value" and choices
        message = f"expected one of {', '.join(choices)}" if is_choice else wrong.message
        raise ConfigurationError(f"{wrong.path}: {message}") from None


def _choices(kind: Any) -> list[str]:
    """Return the texts that a `Literal` permits, on its own or in a union."""
    parts = get_args(kind)
    return [one for part in parts for one in ([part] if isinstance(part, str) else _choices(part))]


def keys_of(kind: type[msgspec.Struct]) -> list[str]:
    """Return the keys of a struct in JSON."""
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def unknown_keys(value: Any, known: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown key of an object, with a hint."""
    for key in value if isinstance(value, dict) else ():
        if key not in known:
            near = get_close_matches(key, [one for one in known if not key.startswith(one)], 1, 0.7)
            yield key, f"; did you mean {near[0]}?" if near else ""
