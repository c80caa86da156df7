"""What an answer is worth: `ir_measures` over the first ten names."""

from collections.abc import Mapping, Sequence

from evals.sets import Question

SHORT, LONG = 5, 10
"""Lengths of the answers that are asked for; a selector hands on a handful of tools."""

AT_SHORT = {"P@1": "P@1", "R@1": "R@1", "R@5": "R@5", "nDCG@5": "nDCG@5"}
AT_LONG = {"nDCG@10": "nDCG@10", "MRR": "RR@10"}
NAMES = (*AT_SHORT, *AT_LONG)


def score(
    questions: Sequence[Question], short: Sequence[list[str]], long: Sequence[list[str]]
) -> dict[str, float]:
    """Means over questions (binary gains; no answer scores 0), by the names of the measures.

    `short` and `long` hold the names answered to each question when five or ten are asked for.
    """
    values = each(questions, short) | each(questions, long, AT_LONG)
    return {title: sum(found) / max(len(found), 1) for title, found in values.items()}


def each(
    questions: Sequence[Question],
    answers: Sequence[list[str]],
    measures: Mapping[str, str] = AT_SHORT,
) -> dict[str, list[float]]:
    """Return the values of every question, by the names of the measures."""
    import ir_measures  # of an extra, which `--help` must not need

    qrels = {q.id: dict.fromkeys(q.gold, 1) for q in questions}
    # Falling numbers stand for the scores: the order is what is judged.
    run = {
        question.id: {name: float(len(names) - place) for place, name in enumerate(names)}
        for question, names in zip(questions, answers, strict=True)
        if names
    }
    values = {title: dict.fromkeys((q.id for q in questions), 0.0) for title in measures}
    titles = {name: title for title, name in measures.items()}
    for metric in ir_measures.iter_calc(map(ir_measures.parse_measure, titles), qrels, run):
        values[titles[str(metric.measure)]][metric.query_id] = metric.value
    return {title: list(found.values()) for title, found in values.items()}
