"""Expand the variables of the environment in a configuration, as hosts do.

`${NAME}` and `${NAME:-default}` are Claude Code's spellings, `${env:NAME}` is that of Cursor and
VS Code.
"""

import re
from collections.abc import Mapping
from typing import Any

from toolscout.errors import ConfigurationError

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expand(value: Any, environ: Mapping[str, str], place: str) -> Any:
    """Return a JSON value with the variables of its texts replaced; keys stay as they are.

    Raises:
        ConfigurationError: a variable without a default is not set.
    """
    if isinstance(value, str):

        def replacement(match: re.Match[str]) -> str:
            name, default = match.groups()
            found = environ.get(name, default)
            if found is None:
                raise ConfigurationError(f"{place}: the variable {name} is not set")
            return found

        return _VARIABLE.sub(replacement, value)
    if isinstance(value, dict):
        return {name: expand(one, environ, f"{place}.{name}") for name, one in value.items()}
    if isinstance(value, list):
        return [expand(one, environ, f"{place}[{n}]") for n, one in enumerate(value)]
    return value
