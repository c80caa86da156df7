"""Our own questions in other languages: natural phrasing, no part of any headline figure.

`questions.jsonl` has the same questions in English and seven languages over the tools of the
development sets, `tools.jsonl` tools and questions in one language. `everyday.jsonl` has requests
of two to four words in thirteen languages over the tools in `business_tools.jsonl`; they were
written before anything was done for them, and those in `everyday_later.jsonl` after it.
`short.jsonl` has thirty requests of an assistant's user in each of six languages and ten in each of
six more, no translations of one another; what they want was written before any answer was seen.
`short_later.jsonl` has six more of each language, written when the words had been listed.
"""
