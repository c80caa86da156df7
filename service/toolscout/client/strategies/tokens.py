"""The proxy's own notion of a word: runs of ASCII letters and digits, three or more, no stop words.

Kept as it is so that local scores equal the proxy's. The service's tokeniser knows more (other
scripts, camelCase, word stems) but needs more than a base install has.
"""

import re

MIN_CHARS = 3

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        about all also and any are been but can could did does for from had has have how into its
        not one other our should that the their them then there these they this those was were
        what when where which who why will with would you your
        """,
    )
)

_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """The words of a text in order, repeats kept: `Read_file (v2)` → `read`, `file`."""
    found = _WORD.findall(text.lower())
    return [word for word in found if len(word) >= MIN_CHARS and word not in STOP_WORDS]


def contains_name(text: str, name: str) -> bool:
    """Whether a text holds a tool's name as a word of its own, in any case.

    The proxy takes any substring, so that a tool `add` is found in "address".
    """
    found = re.search(rf"(?<![a-z0-9_]){re.escape(name.lower())}(?![a-z0-9_])", text.lower())
    return bool(name) and found is not None
