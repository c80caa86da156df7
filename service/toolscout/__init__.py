"""Toolscout: which few of your hundreds of tools should the model see?"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Engine", "Result", "__version__"]

if TYPE_CHECKING:
    from toolscout.engine import Engine, Result


ELSEWHERE = {
    "AsyncSelector": "toolscout.client",
    "Selector": "toolscout.client",
    "AsyncTransport": "toolscout.discovery",
    "Transport": "toolscout.discovery",
}
"""Where the classes are that newcomers look for here."""


def __getattr__(name: str) -> Any:
    """Load the engine on first use: the client install has no vectors to load it with."""
    if module := ELSEWHERE.get(name):
        raise ImportError(f"{name} is in {module}: from {module} import {name}")
    if name in ("Engine", "Result"):
        try:
            from toolscout import engine
        except ModuleNotFoundError as error:
            if str(error.name).startswith("toolscout"):
                raise
            from toolscout.common.optional import write_install_command

            message = f"{error.name} is not installed: {write_install_command('engine')}"
            raise ModuleNotFoundError(message, name=error.name) from None
        return getattr(engine, name)
    raise AttributeError(f"module 'toolscout' has no attribute {name!r}")
