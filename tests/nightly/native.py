"""Drills of the compiled part of the ranking: odd texts, and memory over thousands of lists.

`python -m tests.nightly.native odd 19000 SEED` compares both ways; with NATIVE_AT the extension is
loaded from that file, such as one with sanitizers. `… memory 100000 1000` asks questions and drops
lists, and says how the resident memory grew. `… questions 300 6000` compares both ways over a list
of the evaluation data (TOOLSCOUT_DATA), with questions of all lengths.
"""

import argparse
import gc
import json
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from random import Random

NAME = "toolscout.ranking.native._join"


def load(path: str) -> None:
    """Load the extension from a file, in place of the one that is built."""
    spec = spec_from_file_location(NAME, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[NAME] = module


if "NATIVE_AT" in os.environ:
    load(os.environ["NATIVE_AT"])

from evals.speed.questions import Questions, sentences  # noqa: E402
from tests.both_ways import compare, make_odd, read_questions  # noqa: E402
from tests.support import ENGINE, TOOLS, compiled, crowd  # noqa: E402
from toolscout.ranking import pipeline  # noqa: E402
from toolscout.ranking.ask import Ask  # noqa: E402
from toolscout.ranking.native import extension, joining  # noqa: E402

QUESTIONS = read_questions()

VOCABULARY = 15_000
"""Words beside those of the questions: all of them are in Python's own caches soon."""

BOOK = 2_000
"""Words of a book, so that one after the other is opened."""


def compare_odd(count: int, seed: int) -> str:
    """Compare both ways over odd texts."""
    chance = Random(seed)
    words = " ".join(QUESTIONS).split()
    catalog = compiled([*TOOLS, *crowd(40, "invoice")])
    joined = 0
    for _ in range(count):
        text = make_odd(chance, words)
        if chance.random() < 0.2:
            text = chance.choice(catalog.names).replace("_", chance.choice(" -_.")) + " " + text
        if text.strip():
            joined += compare(catalog, Ask(pattern=text, top_k=chance.choice((1, 3, 5, 20))))
    return f"{count} odd texts, {joined} native, no difference"


def compare_questions(size: int, count: int) -> str:
    """Compare both ways over questions of the evaluation data."""
    folder = Path(os.environ["TOOLSCOUT_DATA"])
    catalog = compiled(json.loads((folder / "catalogs" / f"{size}.json").read_text("utf-8")))
    found, _ = sentences(folder)
    texts = Random(9).sample(found, min(count, len(found)))
    for length in (3, 15, 150):
        texts += islice(Questions(found, length, 9), count // 6)
    joined = sum(compare(catalog, Ask(pattern=text)) for text in texts)
    return f"{len(texts)} questions of {size} tools, {joined} native, no difference"


def read_mib() -> float:
    """Return the resident memory, after a collection."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def measure_growth(questions: int, lists: int) -> tuple[float, float]:
    """Return by how many MiB questions of one list, and lists that are dropped, grow the process.

    Each grows until caches are full; what counts is the second half.
    """
    chance = Random(5)
    words = " ".join(QUESTIONS).split()

    def ask(catalog: object, count: int) -> None:
        for _ in range(count):
            text = " ".join(chance.choices(words, k=12)) + f" word{chance.randrange(VOCABULARY)}"
            pipeline.decide(catalog, Ask(pattern=text), ENGINE.embedder)  # type: ignore[arg-type]

    joining.MAX_WORDS = BOOK
    catalog = compiled(crowd(60, "invoice"))
    ask(catalog, questions // 2)
    half = read_mib()
    ask(catalog, questions // 2)
    by_questions = read_mib() - half
    for number in range(lists):
        if number == lists // 2:
            half = read_mib()
        ask(compiled(crowd(60, f"thing{number}")), 3)
    return by_questions, read_mib() - half


def main() -> None:
    """Run a drill."""
    parser = argparse.ArgumentParser(prog="python -m tests.nightly.native", description=__doc__)
    parser.add_argument("kind", choices=["odd", "questions", "memory"])
    parser.add_argument("first", type=int, help="texts; tools; questions")
    parser.add_argument("second", type=int, help="the seed; questions; lists")
    parsed = parser.parse_args()
    assert extension.find_extension() is not None, extension.describe()
    if parsed.kind == "odd":
        print(compare_odd(parsed.first, parsed.second))
    elif parsed.kind == "questions":
        print(compare_questions(parsed.first, parsed.second))
    else:
        by_questions, by_lists = measure_growth(parsed.first, parsed.second)
        print(f"{by_questions:.1f} {by_lists:.1f}")


if __name__ == "__main__":
    main()
