"""What an answer is worth: `ir_measures` over the first ten names."""

from collections.abc import Sequence

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
    qrels = {q.id: dict.fromkeys(q.gold, 1) for q in questions}
    return _means(qrels, questions, short, AT_SHORT) | _means(qrels, questions, long, AT_LONG)


def _means(
    qrels: dict[str, dict[str, int]],
    questions: Sequence[Question],
    answers: Sequence[list[str]],
    measures: dict[str, str],
) -> dict[str, float]:
    import ir_measures  # of an extra, which `--help` must not need

    # Falling numbers stand for the scores: the order is what is judged.
    run = {
        question.id: {name: float(len(names) - place) for place, name in enumerate(names)}
        for question, names in zip(questions, answers, strict=True)
        if names
    }
    totals = dict.fromkeys(measures, 0.0)
    titles = {name: title for title, name in measures.items()}
    for metric in ir_measures.iter_calc(map(ir_measures.parse_measure, titles), qrels, run):
        totals[titles[str(metric.measure)]] += metric.value
    return {title: total / max(len(questions), 1) for title, total in totals.items()}
