"""Skills: folders with instructions for a task in `SKILL.md`, found by what that says of itself.

---
name: pdf-forms
description: Fill in the forms of a PDF. Use it when somebody has to sign a form.
---
# How to fill in a form …

Front matter and texts are whatever somebody has downloaded: nothing of them is run, no object is
built from them, and nothing outside a skill's own folder is read.
"""

import os
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

import yaml

FILE = "SKILL.md"

HEAD_BYTES = 64 * 1024
"""Bytes of `SKILL.md` in which its front matter and first paragraph are looked for."""

MAX_FILE_BYTES = 256 * 1024
"""Bytes of a file that a model is given; one that is larger is refused."""

MAX_FOLDERS = 100_000
"""Folders that are searched for skills; a home folder has more."""

_FRONT = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$(.*)", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"[^\W_](?:[\w .:-]{0,62}[^\W_])?")
_NOTHING = ("", "~", "null", "Null", "NULL")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SkillError(ValueError):
    """Why a skill, or a file of it, cannot be read."""


class Skill(NamedTuple):
    """One skill."""

    name: str
    description: str
    folder: Path
    """Its own folder, without links."""

    @property
    def document(self) -> dict[str, Any]:
        """Return it as it is searched."""
        return {"name": self.name, "kind": "skill", "description": self.description}

    def read(self, path: str = FILE) -> str:
        """Return the text of a file of its folder.

        Raises:
            SkillError: there is none in it, or it is too large or no text.
        """
        content = _read(self.folder, path, MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise SkillError(f"the file is larger than {MAX_FILE_BYTES // 1024} KiB")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise SkillError("the file is no text in UTF-8") from None


class Skills:
    """The skills of some folders, in which the first of a name counts.

    They are read again when other folders are used, or when one of them has got or lost an entry,
    which its time of change tells; not when a file further down has changed.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, Skill] = {}
        self._state: list[object] = []

    def has_changed(self, folders: Iterable[str]) -> bool:
        """Return whether the skills have to be read again."""
        return self._state != list(map(_state, folders))

    def use(self, folders: Sequence[str]) -> list[str]:
        """Read the skills again if they have changed; return what is wrong with some."""
        if not self.has_changed(folders):
            return []
        self._state = list(map(_state, folders))
        found: dict[str, Skill] = {}
        problems = []
        for folder in folders:
            for place, skill in _skills(Path(folder)):
                if isinstance(skill, Skill) and skill.name in found:
                    skill = SkillError(f"{found[skill.name].folder} has the same name")
                if isinstance(skill, Skill):
                    found[skill.name] = skill
                else:
                    shown = str(place)
                    problems.append(f"{shown if shown.isprintable() else repr(shown)}: {skill}")
        self.by_name = found
        return problems

    def read(self, name: str, path: str) -> str:
        """Return the text of a file of a skill.

        Raises:
            SkillError: there is no such skill, or no such file in its folder.
        """
        if name in self.by_name:
            return self.by_name[name].read(path)
        near = get_close_matches(name, self.by_name)
        hint = f"; near: {', '.join(near)}" if near else ""
        raise SkillError(f"there is no skill of this name{hint}")


def _state(folder: str) -> object:
    try:
        return folder, Path(folder).stat().st_mtime_ns
    except (OSError, ValueError):
        return folder, None


def _skills(root: Path) -> Iterator[tuple[Path, Skill | SkillError]]:
    """Yield each skill below a folder, or what is wrong with it; links to folders are not followed.

    Hidden folders and those inside a skill are not searched.
    """
    if not root.is_dir():
        yield root, SkillError("there is no such folder")
        return
    for number, (folder, folders, files) in enumerate(os.walk(root.resolve())):
        if number >= MAX_FOLDERS:
            yield root, SkillError(f"only the first {MAX_FOLDERS:,} folders are searched")
            return
        here = Path(folder)
        if FILE in files:
            folders.clear()
            try:
                yield here, _skill(here)
            except SkillError as error:
                yield here, error
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            if (here / name).is_symlink() and (here / name / FILE).exists():
                yield here / name, SkillError("a link, which is not followed")


def _skill(folder: Path) -> Skill:
    try:
        text = getincrementaldecoder("utf-8")().decode(_read(folder, FILE, HEAD_BYTES))
    except UnicodeDecodeError:
        raise SkillError("not UTF-8") from None
    front = _FRONT.match(text)
    fields = {} if front is None else _fields(front[1])
    name = fields.get("name") or folder.name
    if not _NAME.fullmatch(name) or "__" in name:
        raise SkillError("its name has other characters than letters, digits, `-`, or is too long")
    description = fields.get("description") or _first_paragraph(text if front is None else front[2])
    if not description:
        raise SkillError("it has neither a description nor a paragraph")
    return Skill(name, description, folder)


def _fields(front: str) -> dict[str, str]:
    """Return the texts of a front matter.

    YAML is read by its events: no alias can expand, and no depth can exhaust the stack, which ends
    the process where libyaml makes nodes of them.
    """
    found: dict[str, str] = {}
    try:
        for key, value in _pairs(yaml.parse(front, _LOADER)):
            if key in ("name", "description") and value not in _NOTHING:
                found[key] = " ".join(value.split())
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 2}"
        raise SkillError(f"front matter{line}: {error.problem}") from None
    except yaml.YAMLError:
        raise SkillError("front matter: no YAML") from None
    return found


def _pairs(events: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a mapping with the texts that they have; other values are empty texts."""
    depth, key = 0, None
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
                raise SkillError("front matter: expected `name` and `description`")
            text = event.value if isinstance(event, yaml.ScalarEvent) else ""
            if depth == 1 and key is not None:
                yield key, text
                key = None
            elif depth == 1:
                key = text
            depth += isinstance(event, yaml.CollectionStartEvent)


def _first_paragraph(text: str) -> str:
    """Return the first paragraph of a text in Markdown, in one line; headings are none."""
    for part in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in part.splitlines() if not line.lstrip().startswith("#")]
        if paragraph := " ".join(filter(None, lines)):
            return paragraph
    return ""


def _read(folder: Path, path: str, limit: int) -> bytes:
    """Return the beginning of a file in a folder, whatever links lead to.

    Raises:
        SkillError: there is no such file in it.
    """
    try:
        target = (folder / path).resolve(strict=True)
        if target.is_relative_to(folder):
            # A pipe of this name must not hold the reader up.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with open(os.open(target, flags), "rb") as file:  # noqa: PTH123  # of a descriptor
                if S_ISREG(os.fstat(file.fileno()).st_mode):
                    return file.read(limit)
    except (OSError, ValueError, RuntimeError):
        pass
    raise SkillError("there is no such file in the folder of the skill")
