"""OpenAI Responses, with the namespaces of its tools.

    {"type": "namespace", "name": "crm", "description": "…", "tools": [{"type": "function", …}]}

A function of a namespace is a tool of its own here. It is known as `crm.find_contact` while it is
searched, and goes back into its namespace before the request is sent.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from toolscout.discovery.providers.calls import Call, call_in
from toolscout.discovery.providers.chat import MAX_TOOLS
from toolscout.discovery.providers.fields import Json, mapping, mappings, names_once
from toolscout.discovery.providers.provider import Provider, ProviderName, Results
from toolscout.discovery.providers.responses_stream import ResponsesStream, without_searches
from toolscout.discovery.providers.stream import Stream

_SPACE = "namespace_description"


class OpenAIResponses(Provider):
    """`POST /v1/responses`.

    With `previous_response_id` the request does not contain the conversation's first message; its
    session is that of the response.
    """

    name: ProviderName = "openai-responses"
    max_tools: int | None = MAX_TOOLS
    history_key = "input"
    previous_key = "previous_response_id"
    stream: type[Stream] | None = ResponsesStream
    response_path = ("output",)

    def history(self, request: Json) -> list[Any]:
        """Return the items of `input`; one that is a text is a user's."""
        given = request.get("input")
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        return super().history(request)

    def tools(self, request: Json) -> list[Any]:
        """`tools`, with the functions of namespaces as tools of their own."""
        found: list[Any] = []
        for tool in request.get("tools") or []:
            given = mapping(tool)
            space = given.get("name")
            if given.get("type") != "namespace" or not isinstance(space, str):
                found.append(tool)
                continue
            added = {"namespace": space, _SPACE: given.get("description")}
            found += [
                {**function, "name": f"{space}.{function.get('name')}", **added}
                for function in mappings(given.get("tools"))
            ]
        return found

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """Return the request with other tools, functions back in their namespaces."""
        return super().with_tools(request, grouped(tools))

    def recent(self, request: Json) -> list[str]:
        """Return names in `function_call` items."""
        calls = map(call_in, self.turns(request))
        return names_once(call.name for call in calls if call is not None and call.name)

    def _read(self, response: Json) -> list[tuple[Json, Call | None]]:
        """Return the items; a call that the API has answered itself (a hosted shell) is none."""
        read = super()._read(response)
        outputs = [item for item, _ in read if str(item.get("type")).endswith("_output")]
        answered = [item.get("call_id") for item in outputs]
        return [(item, None if call and call.id in answered else call) for item, call in read]

    def passes(self, request: Json) -> bool:
        """Whether `background` or `conversation` is set.

        A response in the background is fetched later, past any flow, so no search may be in it, and
        none may stay in a `conversation`, where the provider keeps it.
        """
        return bool(request.get("background") or request.get("conversation"))

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a function tool."""
        tool = {"type": "function", "name": name, "description": description}
        return {**tool, "parameters": schema}

    def results(self, results: Results) -> list[Json]:
        """Return the items with the results of searches."""
        return [
            {"type": "function_call_output", "call_id": call.id, "output": text}
            for call, text, _ in results
        ]

    def added(self, request: Json, response: Json, results: Results) -> list[Json]:
        """Every item of the turn (calls need the reasoning before them), then the results.

        With `store: false` the provider knows reasoning by its encrypted content alone.
        """
        items = self.answered(response, results)
        if request.get("store") is False:
            items = [i for i in items if i.get("type") != "reasoning" or i.get("encrypted_content")]
        return [*items, *self.results(results)]

    def without_calls(self, response: Json, name: str) -> Json:
        """Remove these items, and the tool from the tools that the response repeats."""
        return without_searches(response, name)


def grouped(tools: Iterable[Any]) -> list[Any]:
    """Return the tools with functions back in their namespaces, each where its first one stands."""
    found: list[Any] = []
    spaces: dict[str, Json] = {}
    for tool in tools:
        given = mapping(tool)
        if _SPACE not in given:
            found.append(tool)
            continue
        plain = dict(given)
        name, about = plain.pop("namespace"), plain.pop(_SPACE)
        if name not in spaces:
            described = {} if about is None else {"description": about}
            spaces[name] = {"type": "namespace", "name": name, **described, "tools": []}
            found.append(spaces[name])
        spaces[name]["tools"].append({**plain, "name": plain["name"].removeprefix(f"{name}.")})
    return found
