"""Read a JSON file as hosts do: with comments, trailing commas, and variables of the environment.

A key that is given twice is an error, not silently overwritten.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

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


class VariableNotSet(ConfigurationError):  # noqa: N818 - named for what is missing
    """A value names a variable that is not set and has no default."""


class _Object(dict[str, Any]):
    """An object that knows which of its keys were given twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.repeated = [name for name, count in counts.items() if count > 1]


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
        content = json.loads(strip_comments(read_text(path)), object_pairs_hook=_Object)
        repeated = next(_find_repeated(content, ""), None)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise ConfigurationError(f"{place}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: nested too deeply") from None
    except ValueError:
        raise ConfigurationError(f"{path}: a number has too many digits") from None
    if not isinstance(content, _Object):
        raise ConfigurationError(f"{path}: expected an object")
    if repeated is not None:
        raise ConfigurationError(f"{path}: {repeated} is there twice")
    return content


def strip_comments(text: str) -> str:
    """Return a text with blanks in place of comments and trailing commas."""
    return _TRAILING_COMMA.sub(_blank_out, _COMMENT.sub(_blank_out, text))


def expand(value: Any, environ: Mapping[str, str], place: str) -> Any:
    """Return a JSON value with the variables of its texts replaced; keys stay as they are.

    Nobody can be asked for an input: it is the variable of its name, `api-key` that of `API_KEY`.

    Raises:
        VariableNotSet: a variable without a default is not set; says where and which.
    """
    if isinstance(value, str):

        def replacement(match: re.Match[str]) -> str:
            asked = match["input"]
            name = match["name"]
            variable = name or re.sub(r"\W", "_", asked, flags=re.ASCII).upper()
            text = environ.get(variable, environ.get(name or asked, match["default"]))
            if text is None:
                why = f", in place of the input {asked}" if asked else ""
                raise VariableNotSet(f"{place}: the variable {variable} is not set{why}")
            return text

        return _VARIABLE.sub(replacement, value)
    if isinstance(value, dict):
        return {name: expand(one, environ, f"{place}.{name}") for name, one in value.items()}
    if isinstance(value, list):
        return [expand(one, environ, f"{place}[{n}]") for n, one in enumerate(value)]
    return value


def drop_blanks(value: dict[str, Any]) -> dict[str, Any]:
    """Return an entry without keys that say nothing: null, and an empty text."""
    inner = {key: one for key, one in value.items() if one is not None and one != ""}
    for key in MAPS & inner.keys():
        if isinstance(inner[key], dict):
            inner[key] = {name: one for name, one in inner[key].items() if one is not None}
    return inner


def _blank_out(match: re.Match[str]) -> str:
    """Replace all but texts by spaces, so that errors name the place in the file."""
    return match[1] or re.sub(r"[^\n]", " ", match[0])


def _find_repeated(value: Any, place: str) -> Iterator[str]:
    """Yield the path of each duplicate key."""
    if isinstance(value, _Object):
        yield from (f"{place}{key}" for key in value.repeated)
        for key, one in value.items():
            yield from _find_repeated(one, f"{place}{key}.")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _find_repeated(one, f"{place}{number}.")


def convert_checked(value: Any, kind: Any, place: str) -> Any:
    """Convert a value to a type, such as a struct.

    Raises:
        ConfigurationError: it is something else; says where and what.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        wrong = wrong_field(place, error)
        message = wrong.message
        if message == "Invalid enum value":
            types = {field.name: field.type for field in msgspec.structs.fields(kind)}
            choices = get_args(types[wrong.path.rpartition(".")[2]])
            message = f"expected one of {', '.join(choices)}"
        raise ConfigurationError(f"{wrong.path}: {message}") from None


def find_unknown_keys(value: Any, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown key of an object, with a hint."""
    for key in value if isinstance(value, dict) else ():
        if key not in keys:
            near = get_close_matches(key, [one for one in keys if not key.startswith(one)], 1, 0.7)
            yield key, f"; did you mean {near[0]}?" if near else ""
