"""Rules of what is selected, and of names that are always kept."""

from typing import Any

from evals.conformance.backend import Backend, demand
from evals.conformance.contract import ANSWER, ASKED, TOOLS, TOPICS, Rules

rule = Rules()


@rule("answers", "An answer names the tool that fits, the best one first")
def _names_what_fits(backend: Backend) -> None:
    names = backend.search(pattern=ASKED, top_k=3, tools=TOOLS)
    demand(names[:1] == [ANSWER], f"{names}, not {ANSWER} first")


@rule("answers", "An answer has at most `top_k` names, each once, and all of them were offered")
def _names_no_more_than_asked(backend: Backend) -> None:
    for top_k in (1, 2, 5, 50):
        names = backend.search(
            pattern="read, send, list or delete a file", top_k=top_k, tools=TOOLS
        )
        demand(len(names) <= top_k, f"{len(names)} names where top_k is {top_k}")
        demand(len({*names}) == len(names), f"a name twice: {names}")
        demand({*names} <= {*TOPICS}, f"a name that was not offered: {names}")


@rule("answers", "The same request has the same answer, in whatever order its tools stand")
def _answers_alike(backend: Backend) -> None:
    asked = [TOOLS, TOOLS, TOOLS[::-1], TOOLS[5:] + TOOLS[:5]]
    answers = [backend.search(pattern="a file or a message", tools=tools) for tools in asked]
    demand(all(names == answers[0] for names in answers), f"{answers}")


@rule("answers", "Without `top_k`, or where it is null, at most five names are answered")
def _adds_by_default(backend: Backend) -> None:
    for fields in ({}, {"top_k": None}):
        names = backend.search(pattern="a file or a message", tools=TOOLS, **fields)
        demand(0 < len(names) <= 5, f"{len(names)} names with {fields}")


@rule("answers", "A tool's name in the query, however it is written, puts that tool first")
def _finds_a_name(backend: Backend) -> None:
    for query in ("get_weather", "GET_WEATHER", "getWeather", "please call `get-weather` now"):
        names = backend.search(pattern=query, top_k=2, tools=TOOLS)
        demand(names[:1] == ["get_weather"], f"{names} for {query}")


@rule("answers", "Where nothing fits, the answer is an empty list: the caller keeps all tools")
def _says_that_nothing_fits(backend: Backend) -> None:
    names = backend.search(pattern="xqzzt vrrpl kwyjibo", tools=TOOLS)
    demand(names == [], f"{names}")


@rule("answers", "A connection stays open after an answer, for callers never send a request again")
def _keeps_connections(backend: Backend) -> None:
    response = backend.post({"pattern": ASKED, "tools": TOOLS})
    said = response.headers.get("connection", "").lower()
    demand(said != "close", "Connection: close")
    stays = response.http_version != "HTTP/1.0" or said == "keep-alive"
    demand(stays, "HTTP/1.0 without Connection: keep-alive")


@rule("pins", "A name of `always_keep` is in the answer of every match, within `top_k`")
def _keeps_pins(backend: Backend) -> None:
    names = backend.search(pattern=ASKED, top_k=3, always_keep=["play_song"], tools=TOOLS)
    demand({"play_song", ANSWER} <= {*names}, f"{names}")
    demand(len(names) <= 3, f"{len(names)} names where top_k is 3")


@rule("pins", "Pins never take the last place from a tool that fits")
def _leaves_room_beside_pins(backend: Backend) -> None:
    pins = ["play_song", "list_pods", "book_flight"]
    names = backend.search(pattern=ASKED, top_k=2, always_keep=pins, tools=TOOLS)
    demand(names[:1] == [ANSWER], f"{names}")
    demand(len(names) <= 2, f"{len(names)} names where top_k is 2")


@rule("pins", "A name of `always_keep` that no tool has is left out; null is no name")
def _ignores_pins_that_are_not_there(backend: Backend) -> None:
    names = backend.search(pattern=ASKED, top_k=2, always_keep=["nobody"], tools=TOOLS)
    demand("nobody" not in names and ANSWER in names, f"{names}")
    nothing: tuple[Any, ...] = (None, [])
    for pins in nothing:
        names = backend.search(pattern=ASKED, top_k=1, always_keep=pins, tools=TOOLS)
        demand(names == [ANSWER], f"{names} with {pins}")
