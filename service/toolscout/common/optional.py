"""Packages that only some settings need."""

from importlib import import_module
from typing import Any

from toolscout.errors import ConfigurationError


def write_install_command(extras: str) -> str:
    """Return the command that installs extras, wherever this package came from."""
    return f"pip install '.[{extras}]' in a clone, 'toolscout[{extras}]' from an index that has it"


def import_needed(setting: str, package: str, extra: str, module: str) -> Any:
    """Import a module for which a setting needs a package.

    Raises:
        ConfigurationError: the package is not installed, or not in a version that works.
    """
    try:
        return import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"{setting}: needs the package {package}: {write_install_command(f'server,{extra}')}"
        ) from None
