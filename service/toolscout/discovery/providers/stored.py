"""Providers that store conversations: a request names the response that it goes on from.

They keep a response as the model wrote it, and refuse to go on without the result of each of its
calls. The caller has seen none of the searches, so what it cannot know is remembered here.
"""

from abc import abstractmethod

from toolscout.common.lru import Lru
from toolscout.discovery.providers.fields import Json, encode
from toolscout.discovery.providers.provider import Provider, Results

LAST_IDS: Lru[str, str] = Lru(10_000)
"""Ids of the responses behind those that a stream showed, by the id that the client got."""

OPEN_RESULTS: Lru[str, list[Json]] = Lru(32 * 1024 * 1024)
"""Results of searches, up to so many bytes as JSON, by their caller and the id of the response that
made them along with other calls: they hold definitions, which are the caller's alone."""


class Storing(Provider):
    """Base of providers that store conversations."""

    def resumed(self, request: Json, scope: str) -> Json:
        """Name the response behind the one that a stream showed, and answer its searches."""
        given = self.previous(request)
        last = LAST_IDS.get(given) or given
        results = OPEN_RESULTS.get(f"{scope}\n{last}")
        if results is not None:
            request = self.with_results(request, results)
        return request if last == given else self.going_on_from(request, last)

    def leave_open(self, response: Json, results: Results, scope: str) -> None:
        """Remember the results until a request names the response."""
        kept = self.results(results)
        if name := self.stored_as(response):
            OPEN_RESULTS.put(f"{scope}\n{name}", kept, len(encode(kept)))

    def stored_as(self, response: Json) -> str:
        """`id`."""
        given = response.get("id")
        return given if isinstance(given, str) else ""

    @abstractmethod
    def results(self, results: Results) -> list[Json]:
        """Return the results of searches as a request has them."""

    @abstractmethod
    def with_results(self, request: Json, results: list[Json]) -> Json:
        """Return a request with results before what it has."""

    @abstractmethod
    def going_on_from(self, request: Json, name: str) -> Json:
        """Return a request that goes on from another response."""
