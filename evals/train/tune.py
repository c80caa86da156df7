"""The two stages of training, a few minutes on two processor cores.

Stage 1 learns from the teacher what similar means: the batch's similarities and the texts' own
vectors are pulled towards the teacher's. Stage 2 learns from judged tools which similarity counts
(symmetric InfoNCE), with the stage 1 similarities kept in the loss so that nothing is forgotten.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch.nn import functional
from tqdm import trange

from evals.train.corpus import Corpus, Ids
from evals.train.pairs import BATCH, Batch, DescriptionPairs, QuestionPairs
from evals.train.student import Student

STAGE_1_STEPS = 600
STAGE_1_RATE = 3e-3
STAGE_1_SIMILARITY = 50.0
"""Weight of the similarity loss against the cosine loss, which is a hundred times as large."""

STAGE_2_STEPS = 500
"""More steps fit the training sets and lose on the others: at 1,200 dev nDCG@5 fell by 0.014."""

STAGE_2_RATE = 4e-3
STAGE_2_SIMILARITY = 20.0
TEMPERATURE = 0.07
WEIGHT_RATE = 3.0
"""Token weights learn this many times as fast as token vectors."""

MINOR_SHARE = 0.25
"""Share of names and properties, far more numerous than tools and queries, in a teacher batch."""

Pairs = QuestionPairs | DescriptionPairs


class TeacherTexts:
    """Texts with the teacher's vectors, shape (texts, 384), and their projections."""

    def __init__(
        self,
        numbers: Ids,
        vectors: NDArray[np.float32],
        projection: NDArray[np.float32],
        major: int,
    ) -> None:
        self._numbers = numbers
        self._vectors = torch.from_numpy(vectors)
        self._projected = functional.normalize(self._vectors @ torch.from_numpy(projection), dim=1)
        self._major = major  # the first `major` texts are tools and queries

    def losses(
        self, student: Student, corpus: Corpus, rng: Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Similarity loss (mean squared difference) and cosine loss of one random batch."""
        minor = int(BATCH * MINOR_SHARE)
        rest = len(self._numbers) - self._major
        rows = np.concatenate(
            [
                rng.choice(self._major, min(BATCH - minor, self._major), replace=False),
                self._major + rng.choice(rest, min(minor, rest), replace=False),
            ]
        )
        mine, wanted = student(corpus, self._numbers[rows]), self._vectors[rows]
        similarity = ((mine @ mine.T - wanted @ wanted.T) ** 2).mean()
        return similarity, (1 - (mine * self._projected[rows]).sum(dim=1)).mean()


def learn_from_teacher(
    student: Student, corpus: Corpus, teacher: TeacherTexts, rng: Generator
) -> None:
    """Stage 1, in place."""
    for optimiser in _steps(student, STAGE_1_STEPS, STAGE_1_RATE, "stage 1"):
        similarity, cosine = teacher.losses(student, corpus, rng)
        _descend(optimiser, STAGE_1_SIMILARITY * similarity + cosine)


def learn_from_tools(
    student: Student,
    corpus: Corpus,
    teacher: TeacherTexts,
    sources: Sequence[tuple[Pairs, float]],
    rng: Generator,
) -> None:
    """Stage 2, in place; `sources` are pairs with the share of batches drawn from them."""
    shares = np.array([share for _, share in sources])
    for optimiser in _steps(student, STAGE_2_STEPS, STAGE_2_RATE, "stage 2"):
        source = sources[rng.choice(len(sources), p=shares / shares.sum())][0]
        similarity, _ = teacher.losses(student, corpus, rng)
        loss = contrastive_loss(student, corpus, source.sample(rng))
        _descend(optimiser, loss + STAGE_2_SIMILARITY * similarity)


def contrastive_loss(student: Student, corpus: Corpus, batch: Batch) -> torch.Tensor:
    """Symmetric InfoNCE with any number of right answers a row; rows without one are left out."""
    logits = student(corpus, batch.left) @ student(corpus, batch.right).T / TEMPERATURE
    positive = torch.from_numpy(batch.positive).float()
    return _cross_entropy(logits, positive) + _cross_entropy(logits.T, positive.T)


def _cross_entropy(logits: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    answers = positive.sum(dim=1)
    some = answers > 0
    gained = (functional.log_softmax(logits, dim=1) * positive).sum(dim=1)
    return -(gained[some] / answers[some]).mean()


def _steps(
    student: Student, count: int, rate: float, title: str
) -> Iterator[torch.optim.Optimizer]:
    """Yield an Adam optimiser before each step, its rates falling linearly to zero."""
    groups: list[Mapping[str, object]] = [
        {"params": [student.vectors], "lr": rate},
        {"params": [student.log_weights], "lr": rate * WEIGHT_RATE},
    ]
    optimiser = torch.optim.Adam([dict(group) for group in groups], fused=True)
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / count)
    for _ in trange(count, desc=title, unit=" steps", disable=None):
        yield optimiser
        falling.step()


def _descend(optimiser: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
