"""Leave out what a user has pasted: a request is about it, and it does not ask.

Blocks between fences, and lines of code, logs, diffs, tables, quoted mail and of the forms that
frameworks wrap a request in. Where hardly anything else is left, all of it is the request.
"""

import re

from toolscout.text.tokens import words

LEAST_LINES = 2
"""Lines that read as pasted from which they are: one may be a sentence."""

LEAST_WORDS = 3
"""Words beside what was pasted from which these ask."""

_FENCED = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.M | re.S)

_PASTED = re.compile(
    r"""
    [ \t]*(?:
      >                                                      # quoted mail, a prompt
    | .*\[\[.*\]\]                                           # a marker of a form
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
    | [{}\[\]()]+[;,)]*$ | .*[(){}=\]].*;$ | .*[{}]$
    )
    """,
    re.X,
)


def strip_pasted(text: str) -> str:
    """Return a text without what was pasted into it."""
    if "\n" not in text:
        return text
    rest = _FENCED.sub("\n", text)
    lines = rest.splitlines()
    asking = [line for line in lines if not _PASTED.match(line)]
    if len(lines) - len(asking) >= LEAST_LINES or any("[[" in line for line in lines):
        rest = "\n".join(asking)
    rest = rest.strip()
    return rest if len(words(rest)) >= LEAST_WORDS else text
