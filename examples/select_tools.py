"""The least a proxy needs: keep the tools that fit the question, or all when nobody can say.

pip install .
TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/select_tools.py "mail to a@b.example"
"""

import os
import sys

from toolbox import openai_tools

from toolscout.client import Selector

with Selector(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080")) as selector:
    selection = selector.select(" ".join(sys.argv[1:]), openai_tools(), top_k=3)

print(*selection.names)
if selection.fell_open:
    print(f"every tool, because: {selection.reason} ({selection.detail})", file=sys.stderr)
