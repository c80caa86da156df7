"""Read a JSON file strictly: a key that is given twice is an error, not silently overwritten."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolscout.errors import ConfigurationError


class _Object(dict[str, Any]):
    """An object that knows the first of its keys that was given twice."""

    repeated: str | None = None


def read_object(path: Path) -> dict[str, Any]:
    """Return the object that a file holds.

    Raises:
        ConfigurationError: it cannot be read, is not JSON, holds no object, or has a key twice.
    """
    try:
        found = json.loads(path.read_text("utf-8"), object_pairs_hook=_object)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: not valid UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise ConfigurationError(f"{place}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: nested too deeply") from None
    if not isinstance(found, _Object):
        raise ConfigurationError(f"{path}: expected an object")
    if repeated := _repeated(found, ""):
        raise ConfigurationError(f"{path}: {repeated} is there twice")
    return found


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
