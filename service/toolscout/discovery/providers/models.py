"""Read the version of a model from its name, whoever serves it."""

import re
from functools import lru_cache
from typing import Any

_VERSIONS = {
    "claude": re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"),
    # One digit: Azure writes 3.5 as `gpt-35-turbo`.
    "gpt": re.compile(r"gpt-(\d)(?:\.(\d{1,2}))?(?!\d)"),
}


def version_of(family: str, model: Any) -> tuple[int, int]:
    """Return the version in a model's name, as `(4, 5)`; `(0, 0)` for other families or none.

    Dates are no versions: `claude-sonnet-4-20250514` is `(4, 0)`.
    """
    return _read(family, model) if isinstance(model, str) else (0, 0)


@lru_cache(256)
def _read(family: str, model: str) -> tuple[int, int]:
    found = _VERSIONS[family].search(model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)
