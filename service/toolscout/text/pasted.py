"""Leave out what a user has pasted: a request is about it, and it does not ask.

Blocks between fences, and lines of code, logs, diffs, tables, quoted mail and of the forms that
frameworks wrap a request in. Where hardly anything else is left, all of it is the request.
"""

import re
from bisect import bisect_right

from toolscout.text.tokens import split_words

LEAST_LINES = 2
"""Lines that read as pasted from which they are: one may be a sentence."""

LEAST_WORDS = 3
"""Words beside what was pasted from which these ask."""

LINE_CHARS = 400
"""Characters of a line by which it is judged: its first half and its last."""

_FENCE = re.compile(r"[ \t]*(```|~~~)[^`\n]*$")

_PASTED = re.compile(
    r"""
    [ \t]*(?:
      >                                                      # quoted mail, a prompt
    | \|.*\|[ \t]*$ | [^\t\n]*\t[^\t\n]*\t | [^;\s][^;\n]*;[^;\s][^;\n]*;\S.*$   # a table
    | [0-9a-f]{7,40}[ ]                                      # a log of commits
    | ["']{3}
    | diff[ ]--git\b | index[ ][0-9a-f]{6,} | @@[ ] | (?:\+\+\+|---)[ ]\S | [+-].*[;(){}=]$
    | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d | \[?\d\d:\d\d:\d\d
    | \[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL)\]?[ :]
    | Traceback[ ]\(most | File[ ]".*",[ ]line[ ]\d
    | at[ ][\w.$<>]+\( | [\w.]*(?:Error|Exception):[ ]
    | (?:From|To|Cc|Subject|Date|Sent):[ ].*\S | On[ ].*wrote:$
    | [$#][ ]\S | PS[ ]\w:
    | (?:def|class|func|fn|interface|struct|enum)[ ]\w+.*[:({]
    | (?:import|using|package)[ ][\w.*]+(?:[ ]as[ ]\w+)?;?$ | from[ ][\w.]+[ ]import[ ]
    | import[ ].*[ ]from[ ]["'] | \#include[ ][<"]
    | (?:const|let|var|public|private|protected|static|async)[ ]\w.*[=({;]
    | (?:if|for|while|switch|catch|elif|else[ ]if)[ ]?\(.*\)[ ]*\{?$ | (?:else|try|finally)[ ]?[:{]$
    | (?:return|throw|raise|yield|await|print)\b.*[;)\]}]$
    | (?:SELECT|INSERT[ ]INTO|UPDATE|DELETE[ ]FROM|CREATE[ ]TABLE)[ ].*
    | [\w.\[\]"']+[ ]*[-+*/|]?=[ ]*\S.*$
    | [\w.]+\(.*\)[;,]?$
    | ["'][^"']+["'][ ]*:.*
    | </?\w[^>]*>$
    | [{}\[\]()]+[;,)]*$
    )
    """,
    re.X,
)


_CODE = re.compile(r"[(){}=\]]")


def strip_pasted(text: str) -> str:
    """Return a text without what was pasted into it."""
    if "\n" not in text:
        return text
    lines = _drop_blocks(text.splitlines())
    asking = [line for line in lines if not _is_pasted(line)]
    if len(lines) - len(asking) >= LEAST_LINES or any("[[" in line for line in lines):
        lines = asking
    rest = "\n".join(lines).strip()
    return rest if len(split_words(rest)) >= LEAST_WORDS else text


def _drop_blocks(lines: list[str]) -> list[str]:
    """Leave out what stands between two fences; one that nothing closes stays."""
    fences = [(at, found[1]) for at, line in enumerate(lines) if (found := _FENCE.match(line))]
    ends = [(at, fence) for at, fence in fences if _is_closing(lines[at])]
    closing = {kind: [at for at, fence in ends if fence == kind] for kind in ("```", "~~~")}
    kept = list[str]()
    end = 0
    for start, fence in fences:
        if start < end:
            continue
        after = bisect_right(closing[fence], start)
        if after < len(closing[fence]):
            kept += lines[end:start]
            end = closing[fence][after] + 1
    return kept + lines[end:]


def _is_closing(line: str) -> bool:
    return not line.strip().strip("`~")


def _is_pasted(line: str) -> bool:
    if len(line) > LINE_CHARS:
        line = line[: LINE_CHARS // 2] + line[-LINE_CHARS // 2 :]
    if "[[" in line and "]]" in line:  # the marker of a form
        return True
    if line.rstrip().endswith(("{", "}")) or (line.endswith(";") and _CODE.search(line)):
        return True
    return bool(_PASTED.match(line))
