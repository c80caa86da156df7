"""The stage that answers the first ones in one native call, where that can be done."""

from collections.abc import Sequence
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from msgspec.structs import replace

from toolscout.index import expand, pattern_vectors
from toolscout.index.bm25 import LexicalScores
from toolscout.index.catalog import Catalog
from toolscout.index.embedder import Embedder, Floats, make_query_vectors, pack_query_vectors
from toolscout.index.languages import SHARES
from toolscout.index.names import Mention
from toolscout.index.source import Source
from toolscout.ranking.ask import Ranking
from toolscout.ranking.native.extension import find_extension
from toolscout.ranking.native.words import VIAS, Meanings
from toolscout.ranking.passages import LONG_CHARS, find_asking_sentences
from toolscout.text import query, tokens
from toolscout.text.passages import find_readable_part

MAX_WORDS = 20_000
"""Words of a book, some 6 MB; then the next one is opened, which takes over those that are used."""

MAX_BOOKS = 4
"""As many as models are kept in a process."""


class NativeReader:
    """Reads texts for one catalog."""

    def __init__(self, extension: Any, book: Any, catalog: Catalog) -> None:
        self._book = book
        self.tables = extension.Tables(book, *catalog.postings.list_arrays(), len(catalog))

    def weigh(self, parts: Sequence[str], *, is_fit: bool) -> tuple[list[float], list[float]]:
        """Return how much of each text tools say; see `passages.Reader`."""
        said, most = self.tables.weigh(tuple(parts), is_fit)
        return said, most

    def embed(self, parts: Sequence[str]) -> tuple[Floats, list[float]]:
        """Return the vectors of texts, and how familiar each is; see `passages.Reader`."""
        vectors, familiar = self._book.embed(tuple(parts))
        return np.frombuffer(vectors, np.float32).reshape(len(parts), -1), familiar


# A catalog never changes: one of which some tools are changed is another one.
_READERS: WeakKeyDictionary[Catalog, NativeReader] = WeakKeyDictionary()
_BOOKS: dict[Embedder, Any] = {}
_LOCK = Lock()


def find_reader(catalog: Source, embedder: Embedder | None) -> NativeReader | None:
    """Return what reads texts natively; None where Python does.

    That is so without the extension, for lists that are not compiled yet or kept elsewhere, with
    synonyms of one's own, and with models of another kind.
    """
    extension = find_extension()
    if extension is None or embedder is None or not isinstance(catalog, Catalog):
        return None
    reader = _READERS.get(catalog)
    if reader is not None and not reader.tables.is_full:
        return reader
    if not len(catalog) or catalog.vectors is None or catalog.synonyms is not None:
        return None
    if not embedder.is_summed:
        return None
    with _LOCK:
        book = _open_book(extension, embedder)
        reader = _READERS[catalog] = NativeReader(extension, book, catalog)
    return reader


def _open_book(extension: Any, embedder: Embedder) -> Any:
    former = _BOOKS.get(embedder)
    if former is not None and not former.is_full:
        return former
    if former is None and len(_BOOKS) >= MAX_BOOKS:
        _BOOKS.clear()
    book = _BOOKS[embedder] = extension.Book(
        Meanings(embedder, extension),
        embedder.rows,
        expand.load_synonym_terms(),
        query.QueryTerm,
        VIAS,
        former,
        limit=MAX_WORDS,
        stop_weight=query.STOP_WEIGHT,
        synonym=expand.SYNONYM_WEIGHT,
        lone_synonym=expand.LONE_SYNONYM_WEIGHT,
        meant=expand.MEANT_WEIGHT,
        literal_verb=expand.LITERAL_VERB_WEIGHT,
        credits=(0.0, *(expand.CREDIT[via] for via in VIAS if via)),
        telling_others=query.TELLING_OTHERS,
        shares=SHARES,
        max_word=tokens.MAX_WORD,
        max_words=tokens.MAX_QUERY_WORDS,
        places=pattern_vectors.WORDS,
        sign_bit=pattern_vectors.SIGN_BIT,
    )
    return book


def join(ranking: Ranking) -> Ranking:
    """Read a question, expand it, and find the evidence of words and meaning.

    What the native part does not take stays as it was, for the stages that follow.
    """
    ask = ranking.ask
    catalog = ranking.source
    if ranking.scan is not None or (ranking.degraded or ask.ranker) not in ("auto", "hybrid"):
        return ranking
    embedder = ranking.embedder
    reader = find_reader(catalog, embedder)
    text = find_readable_part(ask.pattern)
    if reader is None or (ranking.allowed is not None and len(text) > LONG_CHARS):
        return ranking
    assert embedder is not None
    assert catalog.vectors is not None
    asking = find_asking_sentences(text, catalog, embedder, None, reader)
    earlier = tuple([(_prepare(said), weight) for said, weight in ranking.earlier])
    made = reader.tables.join(catalog, _prepare(asking), earlier)
    if made is None:
        return ranking
    fields, scores, total, sums, familiarity, is_foreign = made
    rows = np.frombuffer(sums, np.float32).reshape(-1, embedder.dimension)
    if earlier:
        weights = [weight for _, weight in earlier]
        vectors = make_query_vectors(rows, weights, familiarity, is_foreign=bool(is_foreign))
    else:
        vectors = pack_query_vectors(rows, familiarity, is_foreign=bool(is_foreign))
    cosine, whole = (None, None) if vectors is None else catalog.vectors.similarities(vectors)
    return replace(
        ranking,
        is_joined=True,
        ranker="hybrid",
        query=query.Query(*fields),
        lexical=_read_scores(scores, total, len(catalog), reader.tables.unseen),
        vectors=vectors,
        cosine=cosine,
        whole=whole,
        familiarity=0.0 if vectors is None else familiarity,
    )


def _read_scores(scores: bytearray, total: float, size: int, unseen: float) -> LexicalScores:
    """Read the scores of words: coverage as float64, then BM25 over fields and over one text."""
    covered = np.frombuffer(scores, np.float64, size)
    of_words = np.frombuffer(scores, np.float32, 2 * size, 8 * size)
    return LexicalScores(of_words[:size], covered, total, unseen, of_words[size:])


def _prepare(text: str) -> str:
    return tokens.normalise(text.strip())


def find_mentions(ranking: Ranking) -> list[Mention]:
    """Return the tools that the text of a question names; most name none, which is told fast."""
    text = ranking.query.text
    source = ranking.source
    extension = find_extension()
    if extension is None or not isinstance(source, Catalog):
        return source.mentions(text)
    may_name = extension.may_name(text, *source.spellings.list_forms())
    return source.mentions(text) if may_name else []
