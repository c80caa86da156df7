"""What the client raises. Only the caller's own mistakes are errors; all else falls open.

ToolscoutError
├── InvalidArgument     an argument has the wrong type (also a TypeError)
│   └── InvalidTool     an item of `tools` is no tool of any known shape
└── ConfigurationError  a configuration file cannot be read, or a value in it is malformed
"""

from toolscout.errors import ConfigurationError, InvalidArgument, InvalidTool, ToolscoutError

__all__ = ["ConfigurationError", "InvalidArgument", "InvalidTool", "ToolscoutError"]
