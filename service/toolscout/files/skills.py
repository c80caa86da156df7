"""Folders of skills and subagents as tools to search: what is in them is read, and never run.

    .claude/skills/pdf/SKILL.md  → {"name": "pdf", "tags": ["skill"], "source": "…/SKILL.md", …}
    .claude/agents/reviewer.md   → {"name": "reviewer", "tags": ["subagent"], …}

Both begin with frontmatter in YAML that has `name` and `description`
(https://agentskills.io/specification). What stands beside a SKILL.md belongs to that skill. Hidden
folders below the first one are left out, and links are not followed.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from toolscout.common.counted import write_count
from toolscout.errors import InvalidJson
from toolscout.files.yaml_text import read_yaml
from toolscout.tools.file_entries import SKILL, SUBAGENT
from toolscout.tools.naming import find_free, spell_name

SKILL_FILE = "SKILL.md"

MAX_DEPTH = 8
"""Levels of folders below the first one."""

MAX_SEEN = 100_000
"""Files and folders that are looked at."""

MAX_ENTRIES = 5_000
"""Skills and subagents of a folder."""

MAX_FLAWS = 20
"""What could not be read and is named."""

MAX_BYTES = 64 << 10
"""Bytes of a file that are read: its frontmatter has to end there."""

MAX_DESCRIPTION_CHARS = 2_048
"""Characters of a description; the specification allows 1,024."""

SEARCHED_CHARS = 800
"""Characters after the frontmatter that are searched, too: of sixty requests over forty skills 89 %
find theirs among five so, without them 79 % (`python -m evals.skills`)."""

FENCE = "---"

_NO_LINK_OR_PIPE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

_SKIPPED = frozenset(("node_modules", "__pycache__", "site-packages"))
"""Folders of other people's files."""

NOT_FOR_MODELS = "disable-model-invocation"
"""Claude Code's field of skills that people alone call."""

_PLAIN_LINE = re.compile(
    rf"^(name|description|{NOT_FOR_MODELS}):[ \t]+(?![>|][-+0-9]*[ \t]*(?:#.*)?$)(\S.*)$",
    re.MULTILINE,
)
"""What most hosts read in frontmatter that is no YAML, such as `description: Use it when: …`.

A text in the lines below (`>`, `|`) is none of these."""


class SkillFolder(NamedTuple):
    """What was found in a folder."""

    entries: list[dict[str, Any]]
    """Tools with a description, a kind among their `tags`, and their path as `source`."""
    flaws: list[str]
    """What could not be read, each with its file and line."""


def read_skills(*folders: Path) -> SkillFolder:
    """Return the skills and subagents below folders, by their paths.

    Two of one name get different ones, which is told: none takes the place of another.

    Raises:
        ConfigurationError: nothing here reads YAML.
    """
    entries: dict[str, dict[str, Any]] = {}
    flaws: list[str] = []
    read: set[str] = set()
    for folder, path in ((one, path) for one in folders for path in _find_files(one, flaws)):
        real = os.path.realpath(path)
        if real in read:  # of a folder that is named twice, or within another
            continue
        read.add(real)
        if len(entries) == MAX_ENTRIES:
            flaws.append(f"{path}: left out, with all after it: there are {MAX_ENTRIES:,} before")
            break
        if not str(path).isprintable():
            flaws.append(f"{path}: a name that cannot be shown")
            continue
        is_skill = path.name == SKILL_FILE
        try:
            about, body = _read_frontmatter(_read_head(path, folder)[0], path, flaws)
        except (InvalidJson, OSError) as error:
            flaws.append(getattr(error, "detail", f"{path}: {error}"))
            continue
        called = about.get("name")
        description = about.get("description")
        if not is_skill and not (isinstance(called, str) and isinstance(description, str)):
            continue  # other Markdown
        if flaw := _find_flaw(about):
            flaws.append(f"{path}:1: {flaw}")
            continue
        name = "" if called is None else spell_name(str(called))
        if is_skill:
            name = name or spell_name(path.absolute().parent.name)
        if not name:
            flaws.append(f"{path}:1: its name has no letter that a tool's name may have")
            continue
        free = find_free(name, entries)
        if free != name:
            first = entries[name]["source"]
            flaws.append(f"{path}:1: named {free}, for {first} has that name")
        entries[free] = {
            "name": free,
            "description": str(description).strip()[:MAX_DESCRIPTION_CHARS],
            "keywords": [body] if body else [],
            "tags": [SKILL if is_skill else SUBAGENT],
            "source": str(path),
            "risk": "read_only",
        }
    if (rest := len(flaws) - MAX_FLAWS) > 0:
        flaws[MAX_FLAWS:] = [f"and {rest:,} more"]
    told = [one if one.isprintable() else ascii(one) for one in flaws]
    return SkillFolder(list(entries.values()), told)


def read_skill(path: Path, folders: Iterable[Path]) -> str:
    """Return the text of a skill or subagent that was found in one of these folders.

    Of a long one it is the beginning, which says so.

    Raises:
        OSError: it cannot be read, or there is a link between it and its folder.
    """
    above = [one for one in folders if path.is_relative_to(one)]
    text, is_cut = _read_head(path, max(above, key=lambda one: len(one.parts)))
    return f"{text}\n[cut: read the whole in {path}]" if is_cut else text


def _read_head(path: Path, folder: Path) -> tuple[str, bool]:
    """Return the beginning of a file with frontmatter, or "" of any other, and whether it is cut.

    Raises:
        OSError: it cannot be read, or there is a link between it and the folder.
    """
    with os.fdopen(_open_below(folder, path), "rb") as file:
        begin = file.readline(len(FENCE) + 8)
        if begin.decode("utf-8-sig", "replace").strip() != FENCE:
            return "", False
        text = file.read(MAX_BYTES).decode("utf-8", "replace")
        return f"{FENCE}\n{text}", bool(file.read(1))


def _open_below(folder: Path, path: Path) -> int:
    """Open a file below a folder, and follow no link but the folder itself.

    Raises:
        OSError: it cannot be opened, or there is a link.
    """
    *between, name = path.relative_to(folder).parts
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in between:  # one by one: any of them may become a link at any time
            inside = os.open(part, _NO_LINK_OR_PIPE | os.O_DIRECTORY, dir_fd=place)
            os.close(place)
            place = inside
        return os.open(name, _NO_LINK_OR_PIPE, dir_fd=place)
    finally:
        os.close(place)


def _find_files(folder: Path, flaws: list[str]) -> Iterator[Path]:
    """Yield files that may be skills or subagents, folder by folder."""
    waiting = [(folder, 0)]
    left = MAX_SEEN
    for place, depth in waiting:  # which grows meanwhile
        try:
            with os.scandir(place) as listed:
                inside = sorted(islice(listed, left), key=lambda one: one.name)
        except OSError as error:
            flaws.append(f"{place}: {error.strerror}")
            continue
        left -= len(inside)
        if left <= 0:
            flaws.append(f"{place}: only the first {MAX_SEEN:,} files were looked at")
        files = [place / one.name for one in inside if one.is_file(follow_symlinks=False)]
        if links := [one.name for one in inside if one.is_symlink()]:
            told = f"{write_count(len(links), 'link')} not followed: name the folders they lead to"
            flaws.append(f"{place / links[0]}: {told}")
        if place / SKILL_FILE in files:
            yield place / SKILL_FILE
            continue
        yield from (path for path in files if path.suffix == ".md")
        if depth < MAX_DEPTH:
            folders = [one.name for one in inside if one.is_dir(follow_symlinks=False)]
            seen = [name for name in folders if name not in _SKIPPED and name[0] != "."]
            waiting += [(place / name, depth + 1) for name in seen]


def _find_flaw(about: dict[str, Any]) -> str | None:
    """Return why what a frontmatter describes is not offered; None if it is."""
    description = about.get("description", "")
    if not isinstance(description, str):
        return "description: expected text"
    if not description.strip():
        return "expected a name and a description in its frontmatter"
    written = str(about.get(NOT_FOR_MODELS)).partition("#")[0]
    if written.strip(" \t\"'").lower() == "true":
        return f"left out, as its {NOT_FOR_MODELS} says"
    return None


def _read_frontmatter(head: str, path: Path, flaws: list[str]) -> tuple[dict[str, Any], str]:
    """Return the frontmatter of a file, and the beginning of the text that follows.

    Of frontmatter that is no YAML its plain lines are read, and that is noted.

    Raises:
        ConfigurationError: nothing here reads YAML.
        InvalidJson: it has no end, or nothing of it can be read; the message has file and line.
    """
    if not head:
        return {}, ""
    lines = head.splitlines()
    ends = (number for number, line in enumerate(lines) if number and line.rstrip() == FENCE)
    end = next(ends, None)
    if end is None:
        limit = f"within {MAX_BYTES:,} bytes"
        raise InvalidJson(f"{path}:1: the frontmatter has no end, a line with {FENCE}, {limit}")
    written = "\n".join(["", *lines[1:end]])  # so that errors have the file's own lines
    about: Any = None
    try:
        about = read_yaml(written, str(path))
    except InvalidJson as error:
        about = dict(_PLAIN_LINE.findall(written))
        if "description" not in about:
            raise
        flaws.append(f"{error.detail}; its plain lines were read")
    if not isinstance(about, dict):
        raise InvalidJson(f"{path}:2: expected fields such as name and description")
    return about, "\n".join(lines[end + 1 :]).strip()[:SEARCHED_CHARS]
