"""Rollout: whether the service is asked, and whether its choice is used.

off          nothing is asked, every tool is kept
dark         the service is asked and its answer logged, every tool is kept
shadow       as dark, and compared with the local relevance ranking
percent:25   a quarter of the sessions use the service's choice, the others keep every tool
on           the service's choice is used
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from toolscout.errors import InvalidArgument

Mode = Literal["off", "dark", "shadow", "percent", "on"]
_PLAIN: tuple[Mode, ...] = ("off", "dark", "shadow", "on")
_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class Rollout:
    """A parsed rollout setting."""

    mode: Mode = "on"
    percent: float = 100.0

    @classmethod
    def parse(cls, setting: "str | Rollout") -> "Rollout":
        """Read `off`, `dark`, `shadow`, `percent:N` (or `N%`) or `on`.

        Raises:
            InvalidArgument: it is none of these, or the percentage is not within 0 to 100.
        """
        if isinstance(setting, Rollout):
            return setting
        if not isinstance(setting, str):
            raise InvalidArgument.of("rollout", "off, dark, shadow, percent:N or on", setting)
        text = setting.strip().lower()
        for mode in _PLAIN:
            if text == mode:
                return cls(mode)
        if text.startswith("percent:") or text.endswith("%"):
            try:
                percent = float(text.removeprefix("percent:").removesuffix("%"))
            except ValueError:
                percent = -1.0
            if 0 <= percent <= 100:
                return cls("percent", percent)
        raise InvalidArgument(
            f"rollout: expected off, dark, shadow, percent:N (0 to 100) or on, got {setting!r}"
        )

    def includes(self, session: str | None, call: str = "") -> bool:
        """Whether a session uses the service's choice; a call without one has its own side.

        A session stays on its side as long as the percentage does not change, and a session that
        is in stays in when the percentage grows.
        """
        if self.mode != "percent":
            return self.mode == "on"
        digest = sha256((session or call).encode("utf-8", "replace")).digest()
        return int.from_bytes(digest[:8], "big") % _BUCKETS < self.percent * _BUCKETS / 100


def measure_overlap(one: list[str], other: list[str]) -> float | None:
    """Return the names in both as a share of the names in either; None without any."""
    either = set(one) | set(other)
    return len(set(one) & set(other)) / len(either) if either else None
