"""Every ranker of the evaluation by its name."""

from collections.abc import Callable
from functools import partial

from evals import baselines, encoders
from evals.rankers import OURS, PINS, MissingPackage, Ours, Ranker
from toolscout.index.static_model import BUNDLED_MODEL

PINNED = "hybrid+pins"
"""Ours beside four tools that the model sees all the time."""

ENCODER = "hybrid+encoder"
"""Ours with the transformer of the extra `encoder` beside the static model."""

BASELINES: dict[str, Callable[[str], Ranker]] = {
    "rank-bm25": lambda _: baselines.rank_bm25,
    "bm25s": lambda _: baselines.bm25s_stemmed,
    "chuk-tool-processor": lambda _: baselines.chuk,
    "minilm": lambda _: encoders.minilm(),
    "minilm+bm25": encoders.minilm_with_bm25,
}
"""Made with the model that our own part of them uses, if they have one."""

NAMES = (*OURS, PINNED, ENCODER, *BASELINES)


def find(name: str, model: str = str(BUNDLED_MODEL)) -> Ranker:
    """Return the ranker of a name; ours use the model2vec model given.

    Raises:
        KeyError: there is no ranker of that name.
        MissingPackage: the package of a baseline is not installed.
    """
    if name == PINNED:
        return Ours("hybrid", model, pins=PINS)
    if name == ENCODER:
        return Ours("hybrid", model, has_encoder=True)
    for ours in OURS:
        if ours == name:
            return Ours(ours, model)
    return BASELINES[name](model)


def find_many(names: list[str], model: str) -> tuple[dict[str, Ranker], list[str]]:
    """Return the rankers that can run, and why each of the others cannot."""
    found: dict[str, Ranker] = {}
    skipped: list[str] = []
    for name in names:
        make = partial(find, name, model)
        try:
            found[name] = _tried(make())
        except MissingPackage as error:
            skipped.append(f"{name}: skipped, {error} is not installed")
    return found, skipped


def _tried(ranker: Ranker) -> Ranker:
    """Index nothing much, so that a missing package is noticed before the work begins."""
    from toolscout.contract.tools import Tool

    ranker([Tool("probe", "probe"), Tool("other", "other")])
    return ranker
