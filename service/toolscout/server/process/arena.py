"""How this process gets its memory from the C library."""

import ctypes
import sys
from contextlib import suppress

_M_ARENA_MAX = -8


def use_one_arena() -> None:
    """Share one heap between all threads, where the library is glibc; call before there are any.

    Each thread would have one of its own, and keep what it once needed: 140 MB after heavy load.
    """
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
