"""What the client raises. Only the caller's own mistakes are errors; all else falls open.

ToolscoutError
├── InvalidArgument     an argument has the wrong type (also a TypeError)
│   └── InvalidTool     an item of `tools` is no tool of any known shape
└── ConfigurationError  a configuration file cannot be read, or a value in it is malformed
"""

from toolscout.errors import ConfigurationError, ToolscoutError

__all__ = ["ConfigurationError", "InvalidArgument", "InvalidTool", "ToolscoutError"]


class InvalidArgument(ToolscoutError, TypeError):
    """An argument has the wrong type; the message says which, what was expected and what came."""

    code = "invalid_argument"

    @classmethod
    def of(cls, name: str, expected: str, got: object) -> "InvalidArgument":
        """Say it in the one form all these messages have; values are not repeated."""
        return cls(f"{name}: expected {expected}, got {type(got).__name__}")


class InvalidTool(InvalidArgument):
    """An item of `tools` is neither a mapping, a dataclass, a struct nor a pydantic model."""

    code = "invalid_tool"
