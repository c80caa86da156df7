"""Hard requests of ten kinds, and conversations, over the tools of `catalogs/300.json`.

The wanted tools were written down before any answer was seen. `requests.jsonl` and
`conversations.jsonl` have the questions, `talk.txt` sentences of talk that asks for nothing.
"""
