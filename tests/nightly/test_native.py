"""The compiled part of the ranking: odd texts under sanitizers, and memory over many lists."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import environment, ran
from toolscout.ranking.native import extension

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.integration,
    pytest.mark.nightly,
    pytest.mark.skipif(
        extension.find_extension() is None, reason=f"the ranking is {extension.describe()}"
    ),
]
DRILL = [sys.executable, "-m", "tests.nightly.native"]
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -g -O1"
COMPILE = """
import sys
from pathlib import Path
from hatch_build import compile_native
print(compile_native(Path("."), Path(sys.argv[1]))[0] or "")
"""


def find_library(name: str) -> str:
    return subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()


def test_odd_texts_are_the_same_and_no_sanitizer_complains(tmp_path: Path):
    environ = environment() | {"CFLAGS": SANITIZERS, "CC": "gcc"}
    made = ran([sys.executable, "-c", COMPILE, tmp_path], cwd=ROOT, env=environ).stdout.strip()
    if not made:
        pytest.skip("gcc has no sanitizers here")
    libraries = [find_library(name) for name in ("libasan.so", "libubsan.so")]
    environ = os.environ | {
        "NATIVE_AT": made,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it has interned
        "PYTHONMALLOC": "malloc",
    }
    done = ran([*DRILL, "odd", "19000", "7"], cwd=ROOT, env=environ)
    assert "no difference" in done.stdout


@pytest.mark.skipif("TOOLSCOUT_DATA" not in os.environ, reason="TOOLSCOUT_DATA names no folder")
@pytest.mark.parametrize(("size", "count"), [(300, 12_000), (3_000, 3_000)])
def test_questions_as_people_write_them_are_the_same(size: int, count: int):
    done = ran([*DRILL, "questions", size, count], cwd=ROOT)
    assert "no difference" in done.stdout


def test_neither_questions_nor_lists_that_are_dropped_grow_the_process():
    done = ran([*DRILL, "memory", "100000", "1000"], cwd=ROOT)
    by_questions, by_lists = map(float, done.stdout.split())
    assert by_questions < 12
    assert by_lists < 12
