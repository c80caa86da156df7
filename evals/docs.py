"""Tables into the documentation, so that its figures are those of a run.

A block begins with `<!-- evals:NAME -->` and ends with `<!-- /evals:NAME -->`; what stands between
is replaced, everything else stays.
"""

from pathlib import Path


def write(path: Path, name: str, text: str) -> None:
    """Put a text into the block of a name.

    Raises:
        ValueError: the file has no such block.
    """
    content = path.read_text("utf-8")
    begin, end = f"<!-- evals:{name} -->", f"<!-- /evals:{name} -->"
    before, opened, rest = content.partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{path} has no block {begin} … {end}")
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", "utf-8")
