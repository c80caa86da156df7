"""A provider of chat completions for the tutorials: it needs no key and costs nothing.

    python examples/scripted_model.py

It calls the tool whose text has most of the user's words, with the last of them for each argument
that has to be there, and answers with what the tool returns. It prints which tools it was shown.
"""

import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def reply(body):
    """Return the next message: a call of a tool, or the result of the last call."""
    *_, last = body["messages"]
    if last["role"] == "tool":
        return {"role": "assistant", "content": last["content"]}
    tools = [tool["function"] for tool in body.get("tools", [])]
    names = ", ".join(tool["name"] for tool in tools[:8])
    print(f"{len(tools)} tools: {names}{', …' if len(tools) > 8 else ''}", flush=True)
    if not tools:
        return {"role": "assistant", "content": "I was shown no tools."}
    said = words(last["content"])
    best = max(tools, key=lambda tool: share(said, words(f"{tool['name']} {tool['description']}")))
    required = best["parameters"].get("required", [])
    arguments = json.dumps(dict.fromkeys(required, last["content"].split()[-1]))
    call = {"name": best["name"], "arguments": arguments}
    calls = [{"id": "call_1", "type": "function", "function": call}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def words(text):
    """Return the words of a text, without the shortest."""
    return {word for word in re.findall("[a-z]+", text.lower()) if len(word) > 2}


def share(asked, offered):
    """Return how alike two sets of words are, from 0 to 1."""
    return len(asked & offered) / max(1, len(asked | offered))


class Model(BaseHTTPRequestHandler):
    """Answers every request, whatever its path."""

    def do_POST(self):
        """Answer one chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = reply(body)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        completion = {"id": "scripted", "object": "chat.completion", "created": 0}
        completion |= {"model": body["model"], "choices": [choice]}
        answer = f"{json.dumps(completion)}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Log nothing but the tools."""


if __name__ == "__main__":
    address = ("127.0.0.1", int(os.environ.get("PORT", "9000")))
    ThreadingHTTPServer(address, Model).serve_forever()
