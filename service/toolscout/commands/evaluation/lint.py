"""Find tools that a selector, or a model, can hardly tell apart, find or call."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec
import numpy as np

from toolscout.commands.evaluation.judging import Ask, find_telling, judge
from toolscout.commands.evaluation.questions import JudgedQuestion
from toolscout.common.counted import list_first_names, write_count
from toolscout.contract.fields import Risk
from toolscout.contract.tools import Tool
from toolscout.engine import Engine
from toolscout.index.embedder import load_embedder
from toolscout.index.prerequisites import find_needed_noun
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.text.domains import load_bundled
from toolscout.text.tokens import speak_name, split_words
from toolscout.tools.documents import description_of, find_quoted_requests, read_tool
from toolscout.tools.poisoned import find_poison
from toolscout.tools.refused import explain_refusals, find_sent_schema, write_reasons
from toolscout.tools.risk import describe_inferred, is_annotated
from toolscout.tools.traits import read_traits

Kind = Literal[
    "refused",
    "poisoned",
    "near-duplicate",
    "same-name",
    "says-nothing",
    "too-long",
    "boilerplate",
    "no-provider",
    "loses",
]

KINDS: dict[Kind, str] = {
    "refused": "names and schemas for which a provider refuses the whole request",
    "poisoned": "texts that order the model about, or hide characters",
    "near-duplicate": "descriptions that hardly differ",
    "same-name": "names that differ in spelling only, or not at all",
    "says-nothing": "descriptions that are missing, or say no more than the name",
    "too-long": "descriptions that are long for what they tell",
    "boilerplate": "sentences that many descriptions share, which tell no tool from another",
    "no-provider": "ids that a call requires and no tool of the file finds",
    "loses": "tools that are not shown for their own questions (with --questions)",
}
"""What is looked for."""

MIN_COSINE = 0.9
"""Cosine of two embedded descriptions from which their words are compared."""

MIN_SAME_WORDS = 0.75
"""Share of the words of two descriptions that are the same, in order, from which they are alike."""

LONG_WORDS = 60
"""Words from which a description is long."""

MIN_TELLING_SHARE = 0.3
"""Share of different telling words below which a long description is thin."""

LONG_CHARS = 2_000
"""Characters of a description that is too long whatever it tells: some 500 tokens a request."""

MIN_SENTENCE_CHARS = 40
"""Characters from which a sentence that several descriptions have is looked at."""

MIN_SHARING = 5
"""Tools that have it."""

SHOWN_CHARS = 80

_SENTENCE_END = re.compile(r"\s*\n\s*|(?<=[.!?])\s+")

QUOTE = 'Use when the user says "…"'
"""How a description quotes a request."""

TOP_K = 5
SHOWN_WORDS = 6
MAX_NAMES = 5
"""Tools of one finding that the text names; the JSON has all of them."""

BLOCK = 1_024
"""Rows of similarities that are computed together."""


class Finding(msgspec.Struct, frozen=True):
    """Something that makes tools hard to select, and what to do about it."""

    kind: Kind
    tools: list[str]
    detail: str
    suggestion: str


def find_all(
    tools: Sequence[Tool], questions: Sequence[JudgedQuestion] = (), ask: Ask | None = None
) -> list[Finding]:
    """Return everything that is found about tools, by kind; `ask` answers the questions."""
    distinct = list({tool.name: tool for tool in reversed(tools)}.values())[::-1]
    every = [
        *_find_refused(distinct),
        *_find_poisoned(distinct),
        *_find_same_names(tools),
        *_find_near_duplicates(distinct),
    ]
    every += [each for tool in distinct for each in _check_description(tool)]
    every += _find_boilerplate(distinct)
    every += _find_without_provider(distinct)
    return [*every, *(_find_losers(distinct, questions, ask) if ask else ())]


def _find_refused(tools: Sequence[Tool]) -> Iterator[Finding]:
    for tool in tools:
        if reasons := explain_refusals(tool.name, find_sent_schema(tool)):
            suggestion = "correct the name, or the schema where the line says"
            yield Finding("refused", [tool.name], write_reasons(reasons), suggestion)


def _find_poisoned(tools: Sequence[Tool]) -> Iterator[Finding]:
    for tool in tools:
        if reasons := find_poison(msgspec.json.decode(msgspec.json.encode(tool))):
            suggestion = "ask who wrote it; a description says what a tool does, and no more"
            yield Finding("poisoned", [tool.name], ", ".join(reasons), suggestion)


def _find_same_names(tools: Sequence[Tool]) -> Iterator[Finding]:
    written: defaultdict[str, list[str]] = defaultdict(list)
    for tool in tools:
        written[speak_name(tool.name).casefold()].append(tool.name)
    for names in written.values():
        if len(names) > 1:
            for name, count in Counter(names).items():
                if count > 1:
                    detail = f"there are {count} tools of this name; the first one counts"
                    suggestion = "put the server before the name, or remove the others"
                    yield Finding("same-name", [name], detail, suggestion)
            different = list(dict.fromkeys(names))
            if len(different) > 1:
                detail = "a model that spells one slightly wrong calls the other"
                suggestion = "name the tools by what they differ in"
                yield Finding("same-name", different, detail, suggestion)


def _find_near_duplicates(tools: Sequence[Tool]) -> Iterator[Finding]:
    spoken = [(tool, split_words(description_of(tool).casefold())) for tool in tools]
    texts = [(tool, described) for tool, described in spoken if described]
    if not texts:
        return
    vectors = load_embedder(str(BUNDLED_MODEL), False).tools(
        [(described, (), ()) for _, described in texts]
    )
    group = list(range(len(texts)))  # the first tool of those that are alike
    for start in range(0, len(texts), BLOCK):
        near = np.argwhere(vectors[start : start + BLOCK] @ vectors.T >= MIN_COSINE)
        for row, other in ((start + int(a), int(b)) for a, b in near):
            is_new = row < other and group[row] != group[other]
            if is_new and _measure_likeness(texts[row][1], texts[other][1]) >= MIN_SAME_WORDS:
                merged, old = sorted((group[row], group[other]))
                group = [merged if first == old else first for first in group]
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for row, first in enumerate(group):
        alike[first].append(row)
    for rows in alike.values():
        if len(rows) > 1:
            names = [texts[row][0].name for row in rows]
            yield _describe_near_duplicate(names, [texts[row][1] for row in rows])


def _measure_likeness(one: Sequence[str], other: Sequence[str]) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _describe_near_duplicate(names: list[str], described: Sequence[Sequence[str]]) -> Finding:
    counts = Counter(word for of_one in described for word in set(of_one))
    apart = [word for word, count in counts.items() if count < len(names)]
    if apart:
        shown = ", ".join(sorted(apart, key=lambda word: (-counts[word], word))[:SHOWN_WORDS])
        detail = f"not all have these words: {shown}"
    else:
        detail = "the descriptions have the same words"
    suggestion = "say in each when to use it rather than the others, or make one tool of them"
    return Finding("near-duplicate", names, detail, suggestion)


def _check_description(tool: Tool) -> Iterator[Finding]:
    description = read_tool(tool).plain_description
    telling_words = find_telling(description)
    if not telling_words - find_telling(tool.name):
        what = "it says no more than the name" if description.strip() else "there is none"
        suggestion = "say in a sentence what it does, to what, and what it returns"
        yield Finding("says-nothing", [tool.name], what, suggestion)
    count = len(description.split())
    if len(description) > LONG_CHARS or (
        count > LONG_WORDS and len(telling_words) < MIN_TELLING_SHARE * count
    ):
        detail = f"{count:,} words, of which {len(telling_words)} different ones tell something"
        suggestion = "begin with one sentence on what it does; put the rest into the parameters"
        yield Finding("too-long", [tool.name], detail, suggestion)


def _find_boilerplate(tools: Sequence[Tool]) -> Iterator[Finding]:
    sharing: defaultdict[str, list[str]] = defaultdict(list)
    for tool in tools:
        for sentence in dict.fromkeys(_SENTENCE_END.split(read_tool(tool).plain_description)):
            if len(sentence) >= MIN_SENTENCE_CHARS:
                sharing[sentence].append(tool.name)
    for sentence, names in sharing.items():
        if len(names) >= MIN_SHARING:
            detail = f"{write_count(len(names), 'description')} say: {sentence[:SHOWN_CHARS]}"
            suggestion = "leave it out; what holds for all tools is said once, by their server"
            yield Finding("boilerplate", names, detail, suggestion)


def _find_without_provider(tools: Sequence[Tool]) -> Iterator[Finding]:
    catalog = Engine(tools).catalog
    requiring: defaultdict[str, list[str]] = defaultdict(list)
    for tool in tools:
        provided = {noun for noun, _ in catalog.providers(catalog.rows[tool.name])}
        for parameter in read_tool(tool).required:
            noun = find_needed_noun(parameter)
            if noun is not None and noun not in provided:
                requiring[parameter].append(tool.name)
    for parameter, names in sorted(requiring.items()):
        detail = (
            f"`{parameter}` is required, and no tool that reads is named for what it identifies"
        )
        suggestion = "add a tool that finds it, or say in the description where it comes from"
        yield Finding("no-provider", names, detail, suggestion)


def _find_losers(
    tools: Sequence[Tool], questions: Sequence[JudgedQuestion], ask: Ask
) -> Iterator[Finding]:
    """Yield the tools that are missed by their own questions, and what is shown instead."""
    verdict = judge(tools, questions, ask, TOP_K)
    for name, asked, missed in verdict.worst_tools:
        instead = Counter(n for miss in verdict.misses if miss.wanted == name for n in miss.shown)
        most = ", ".join(other for other, _ in instead.most_common(3)) or "nothing"
        detail = f"not shown for {missed} of its {write_count(asked, 'question')}; instead: {most}"
        words = "give it `examples` or `keywords` in the words of its questions"
        suggestion = f"{words}, or quote them: {QUOTE}"
        yield Finding("loses", [name], detail, suggestion)


def as_text(every: Sequence[Finding], tools: Sequence[Tool]) -> str:
    """Return the findings in words, by kind, each kind with what to do."""
    quoting = [tool.name for tool in tools if find_quoted_requests(description_of(tool))]
    lines = [f"{write_count(len(tools), 'tool')}, {write_count(len(every), 'finding')}"]
    lines.append(_check_quotes(quoting))
    if levels := infer_risks(tools):
        lines.append(describe_inferred(levels))
    for kind, title in KINDS.items():
        of_kind = [each for each in every if each.kind == kind]
        lines += ["", f"{kind}: {title} ({len(of_kind):,})"] if of_kind else []
        for each in of_kind:
            lines += [f"  {list_names(each.tools)}: {each.detail}"]
        lines += [
            f"  → {suggestion}" for suggestion in dict.fromkeys(e.suggestion for e in of_kind)
        ]
    return "\n".join(lines)


def infer_risks(tools: Sequence[Tool]) -> list[Risk]:
    """Return the risks of the tools that declare none, neither by annotations nor by `risk`."""
    return [
        read_traits(tool, load_bundled()).risk
        for tool in tools
        if tool.risk is None and not is_annotated(read_tool(tool).annotations)
    ]


def _check_quotes(quoting: Sequence[str]) -> str:
    if not quoting:
        return f"Tip: quote a user in each description, such as: {QUOTE}"
    return f"{len(quoting):,} quote what users say, and are found by it: {list_names(quoting)}"


def list_names(names: Sequence[str]) -> str:
    """Return the first tools of a finding, and how many there are beyond."""
    return list_first_names(names, MAX_NAMES)
