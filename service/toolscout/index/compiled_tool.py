"""What one tool contributes to any catalog: its terms, spellings, texts and clues."""

from collections.abc import Iterable
from itertools import islice, pairwise
from typing import Any, NamedTuple

import msgspec

from toolscout.common.spelling import list_forms
from toolscout.contract.tools import Tool
from toolscout.index.adjusted import AdjustedTool, keep_adjusted
from toolscout.index.counts import TermCounts
from toolscout.index.lines import write_line
from toolscout.index.prerequisites import find_needed_noun
from toolscout.text.domains import Taxonomy
from toolscout.text.tokens import analyse_terms, analyse_words, fold, split_words
from toolscout.tools.documents import Document, read_at
from toolscout.tools.overlay import Adjustment
from toolscout.tools.risk import PURPOSE_CHARS
from toolscout.tools.summary import estimate_tool_tokens
from toolscout.tools.traits import Clues, pack_clues

_encode = msgspec.json.Encoder().encode

INDEXED_NAME_CHARS = 256
"""Characters of a name whose words are indexed: 10,000 names of 250 words each took 1.5 GiB."""

MAX_EXAMPLES = 16
"""Examples of one tool that count."""

EXAMPLE_CHARS = 1_024
"""Characters of an example that count."""


class CompiledTool(msgspec.Struct, gc=False):
    """What one tool contributes to any catalog it is part of.

    Nothing in it can refer back to it, and tens of thousands are kept: walking them all would make
    every full garbage collection a pause of a tenth of a second.
    """

    lines: tuple[bytes, bytes]
    """Everything it says, and its name, as the regex ranker searches them."""
    embedding_words: tuple[tuple[str, ...], ...]
    """The words that its vector is made of, as `Embedder.tools` takes them."""
    spellings: tuple[tuple[str, ...], ...]
    """The forms of each of its names."""
    counts: TermCounts
    tokens: int
    """What the tool costs in a prompt."""
    name_terms: tuple[str, ...]
    clues: bytes
    """What its traits are inferred from, packed."""
    available: bool
    needs: tuple[str, ...]
    """Nouns whose identifiers it requires, as terms."""
    wire: bytes
    """The tool as it was sent, for showing it."""
    vector: bytes | None = None
    """Packed float32: joining bytes is what Python does fastest."""
    example_texts: tuple[str, ...] = ()
    examples: tuple[bytes, ...] = ()
    """The requests that it says it serves, as packed patterns; made with its vector."""
    unserved_texts: tuple[str, ...] = ()
    unserved: tuple[bytes, ...] = ()
    """The same for requests that an operator says it does not serve."""
    adjusted: AdjustedTool | None = None

    @property
    def nbytes(self) -> int:
        """Estimated bytes, the vector included: arrays as they are, objects by rule of thumb."""
        return (
            4_000
            + 30 * len(self.counts.terms)
            + len(self.lines[0])
            + len(self.wire)
            + len(self.clues)
            + 8 * sum(map(len, self.embedding_words))
            + 300 * max(len(self.example_texts), len(self.examples))
            + 300 * max(len(self.unserved_texts), len(self.unserved))
            + (len(self.adjusted.wire) if self.adjusted else 0)
        )


class ReadTool(NamedTuple):
    """A tool whose text is read."""

    sent: Tool
    ranked: Tool
    """As it is ranked and filtered: an operator's overlay may differ from what was sent."""
    document: Document
    adjustment: Adjustment | None


def read_to_compile(
    tool: Tool, place: int, taxonomy: Taxonomy, adjustment: Adjustment | None
) -> ReadTool:
    """Collect what a tool, adjusted by an overlay, says; `place` is where errors say it stood.

    Raises:
        InvalidJson: its definition or parameters are not valid JSON, or nested too deeply.
    """
    if adjustment is None:
        return ReadTool(tool, tool, read_at(tool, place), None)
    ranked = adjustment.adjust(tool, taxonomy)
    return ReadTool(tool, ranked, adjustment.read(ranked, place), adjustment)


def compile_tool(read: ReadTool, taxonomy: Taxonomy) -> CompiledTool:
    """Compile what one tool says, without its vector."""
    sent, ranked, document, adjustment = read
    name = split_words(document.name[:INDEXED_NAME_CHARS])
    description = split_words(document.description)
    properties = split_words(document.properties)
    # Of most tools the beginnings are the whole texts.
    purpose = (
        description if document.purpose == document.description else split_words(document.purpose)
    )
    is_whole = document.property_heads == document.properties
    heads = properties if is_whole else split_words(document.property_heads)
    name_terms = analyse_words(name)
    description_terms = analyse_words(description)
    return CompiledTool(
        lines=(
            write_line(f"{document.name} {document.description} {document.properties}"),
            write_line(document.name),
        ),
        embedding_words=((*name, *purpose), tuple(heads), tuple(name)),
        tokens=estimate_tool_tokens(sent),
        spellings=tuple(filter(None, map(_spell, (document.name, *document.aliases)))),
        counts=TermCounts.of(
            (
                _analyse_name(name, name_terms, document, ranked.namespace),
                description_terms,
                analyse_words(properties),
            )
        ),
        name_terms=tuple(name_terms),
        clues=pack_clues(
            Clues(
                tuple(sorted(taxonomy.telling((*name_terms, *description_terms)))),
                document.description[:PURPOSE_CHARS],
                _read_hints(document.annotations),
            )
        ),
        available=ranked.status != "unavailable",
        needs=tuple(dict.fromkeys(filter(None, map(find_needed_noun, document.required)))),
        wire=_encode(sent),
        example_texts=read_examples(ranked),
        unserved_texts=_list_requests(adjustment.row.not_for if adjustment else ()),
        adjusted=keep_adjusted(ranked, adjustment) if adjustment else None,
    )


def read_examples(tool: Tool) -> tuple[str, ...]:
    """Return the requests that a tool says it serves."""
    return _list_requests(tool.examples if isinstance(tool.examples, list | tuple) else ())


def _list_requests(listed: Iterable[Any]) -> tuple[str, ...]:
    texts = (each.strip() for each in listed if isinstance(each, str))
    return tuple(text[:EXAMPLE_CHARS] for text in islice(filter(None, texts), MAX_EXAMPLES))


def _read_hints(annotations: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the annotations that are booleans, as MCP's are: only they tell a risk."""
    if annotations is None:
        return None
    return {key: hint for key, hint in annotations.items() if isinstance(hint, bool)}


def _spell(name: str) -> tuple[str, ...]:
    """Return the spellings of a name; of a long one only the whole."""
    return list_forms(name) if len(name) <= INDEXED_NAME_CHARS else list_forms(name)[:1]


def _analyse_name(
    name: list[str], terms_of_name: list[str], document: Document, namespace: str | None
) -> list[str]:
    """Return the terms of the name, words written together, and its namespace and aliases."""
    name_terms = list(terms_of_name)
    if len(name) > 1:
        name_terms.append(fold("".join(name)))
    if len(name) > 2:
        name_terms.extend(fold(first + second) for first, second in pairwise(name))
    for further in (namespace, *document.aliases):
        if further:
            name_terms.extend(analyse_terms(further))
    return name_terms
