"""What a list takes while it is compiled, in a process of its own."""

import subprocess
import sys
from itertools import islice, product
from string import ascii_lowercase

from tests.support import PATIENCE_S, environment

MOST_PER_BYTE = 40
"""Bytes of memory for each byte of a list whose words nobody used before, the dearest kind: it was
57 with dictionaries of the terms, and is 26."""

COMPILE = """
import resource, sys
from toolscout import Engine
from toolscout.index.cache import CatalogCache
from toolscout.index.tool_list import ToolList

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

compiler, raw = Engine().compiler, sys.stdin.buffer.read()
before = peak()
catalog, _ = compiler.lexical(ToolList.decode(raw), CatalogCache().tools("a"))
catalog.prepare()
print(peak() - before)
"""


def test_new_words_take_bounded_memory():
    words = map("".join, product(ascii_lowercase, repeat=5))
    descriptions = (" ".join(islice(words, 250)).encode() for _ in range(2_000))
    tools = [b'{"name":"t%d","description":"%b"}' % each for each in enumerate(descriptions)]
    raw = b"[" + b",".join(tools) + b"]"
    done = subprocess.run(
        [sys.executable, "-c", COMPILE],
        input=raw,
        capture_output=True,
        env=environment(),
        timeout=2 * PATIENCE_S,
        check=True,
    )
    assert int(done.stdout) < MOST_PER_BYTE * len(raw)
