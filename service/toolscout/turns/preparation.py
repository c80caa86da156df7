"""Prepare a request: decide whether its tools are deferred, and which."""

import os
from collections.abc import Sequence
from typing import Any

from toolscout.client.known import share_lists
from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.client.rollout import Rollout
from toolscout.turns import local
from toolscout.turns.left_out import Upstream
from toolscout.turns.lessons.observing import TurnObservers, count_tokens
from toolscout.turns.opening import TurnSettings
from toolscout.turns.providers import Json, Provider, ProviderName, get_provider
from toolscout.turns.providers.fields import mapping
from toolscout.turns.providers.native import MARK, is_deferring, write_out
from toolscout.turns.session import hash_conversation, normalise
from toolscout.turns.turn import Turn

TOOL_KEYS = ("tools", "toolConfig", "functions")
"""Keys under which a request has its tools."""

USER_KEYS = ("user", "safety_identifier", "prompt_cache_key")
"""Keys with which a request names its user or its conversation."""

KEPT_BY_THREADS = (
    "the provider keeps the tools of a thread, and this model loads none later: such requests go "
    "out with every tool"
)


class Preparation:
    """Decides what becomes of requests, without input or output.

    Args:
        settings: those of all turns.
        rollout: the conversations whose tools are deferred or filtered.
        observers: are told of requests whose tools are filtered.
    """

    def __init__(self, settings: TurnSettings, rollout: Rollout, observers: TurnObservers) -> None:
        self._settings = settings
        self._config = settings.config
        self._store = settings.store
        self._rollout = rollout
        self._observers = observers
        self._known = share_lists()
        self._told_of_threads = False

    def begin(
        self, request: Json, upstream: Upstream, session: str | None, streams: bool
    ) -> Turn | Json:
        """Return a turn with deferred tools, or the body to forward once.

        A malformed request is forwarded as it came, and so is one for a stream that nothing reads.

        Raises:
            InvalidArgument: there is no provider of that name.
        """
        provider = get_provider(upstream.interface)
        if streams and provider.stream is None and self._config.strategy != "relevance":
            return request
        try:
            model = request.get("model") or request.get("modelId") or ""
            upstream = upstream._replace(model=str(model))
            resumed = provider.resume_request(request, upstream.scope)
            can_rename = provider.choices(resumed) == 1 and not (streams and not provider.stream)
            return self._prepare(resumed, session, upstream, can_rename)
        except Exception:
            logger.warning("a request could not be prepared and is forwarded as it came")
            return request

    def limit_tools(self, request: Json, provider: ProviderName) -> Json:
        """Return a request that is not searched, with no more tools than its provider takes."""
        interface = get_provider(provider)
        tools = interface.tools(request)
        if self._config.strategy == "passthrough" or len(tools) <= (
            interface.max_tools or len(tools)
        ):
            return request
        offer = self._known.make_offer(tools)
        return Turn(request, offer, self._settings, Upstream(provider, "")).original

    def _prepare(
        self, request: Json, session: str | None, upstream: Upstream, can_rename: bool
    ) -> Turn | Json:
        provider = get_provider(upstream.interface)
        tools = provider.tools(request)
        if self._config.strategy == "passthrough" or provider.has_to_pass(request):
            return request
        if session is None:
            session = self._find_session(request, upstream)
        if not tools and self._is_leaving_tools_out(request):
            tools = self._store.deferred_tools(session, provider.name)
        written = write_out(provider, request, tools)
        offer = self._known.make_offer(written.tools)
        if not self._is_searched(session, offer, written.tools):
            return request
        if offer.odd:
            logger.warning("tools%s: no object with a name, and left out", [*offer.odd])
            tools = [tool for place, tool in enumerate(written.tools) if place not in offer.odd]
            offer = Offer(tools)
        upstream = upstream._replace(session=session)
        request = written.request
        visible = written.visible
        renaming = self._settings.left_out.rename(offer, upstream) if can_rename else None
        called = provider.recent(request) if renaming else []
        if renaming and (renaming.names or renaming.write_names(called) != called):
            pins = offer.matching(self._config.always_keep)
            visible = renaming.write_names([*visible, *pins])
            request = renaming.write_request(provider, request)
            clean = renaming.offer
            offer = clean if offer.is_known else self._known.make_offer([*clean.everything])
        forced = provider.choice(request).names
        left = self._settings.left_out.leave_out(offer, upstream, forced)
        if left is not offer and left.names:  # else the refusal tells more than no tool
            request = provider.with_tools(request, left.everything)
        begun: Turn | Json = request
        if not self._is_small(left, visible):
            is_filtered = self._config.strategy == "relevance"
            begin = self._filter if is_filtered else self._defer
            begun = begin(request, left, upstream, visible)
        if not renaming or not renaming.names:
            return begun
        if not isinstance(begun, Turn):
            turn = Turn(request, left, self._settings, upstream)
            turn.keep_plain(begun)
            begun = turn
        begun.state.renaming = renaming
        return begun

    def _find_session(self, request: Json, upstream: Upstream) -> str:
        """Return the conversation of a request: that of the response before it, or of its words."""
        provider = get_provider(upstream.interface)
        previous = provider.previous(request)
        of_response = self._store.session_of(previous, upstream.scope)
        return of_response or find_session(request, provider, upstream.scope)

    def _is_leaving_tools_out(self, request: Json) -> bool:
        """Whether a request has no place for tools, so that those of its session are searched."""
        return self._config.strategy != "relevance" and request.keys().isdisjoint(TOOL_KEYS)

    def _is_searched(self, session: str, offer: Offer, tools: Sequence[Any]) -> bool:
        """Whether tools may be deferred: by the rollout, and because the caller defers none."""
        call = os.urandom(8).hex()
        if not self._rollout.includes(session, call=call):
            return False
        if offer.once(MARK, lambda: any(map(is_deferring, tools))):
            logger.info("the request searches deferred tools by itself and is left alone")
            return False
        return True

    def _defer(
        self, request: Json, offer: Offer, upstream: Upstream, visible: Sequence[str]
    ) -> Turn | Json:
        """Return a turn; the body with every tool where later requests could not have others."""
        turn = Turn(request, offer, self._settings, upstream, visible)
        state = turn.state
        keeps = state.incoming.keeps_tools
        if keeps and not state.is_native:
            self._tell_of_threads()
            return request
        has_to_defer = state.is_native and not state.shown.has_room_for_all
        if has_to_defer or not is_unknown(request, state.provider, upstream.session):
            return turn
        return request if keeps else turn.original

    def _is_small(self, offer: Offer, visible: Sequence[str]) -> bool:
        """Whether the tools are so few, or their definitions so short, that none is deferred."""
        most = self._config.defer_above or 0
        tokens = self._config.defer_above_tokens or 0
        is_short = tokens > 0 and count_tokens(offer) <= tokens
        return is_short or len({*offer.names} - {*visible}) <= most

    def _tell_of_threads(self) -> None:
        if not self._told_of_threads:
            self._told_of_threads = True
            logger.warning(KEPT_BY_THREADS)

    def _filter(
        self, request: Json, offer: Offer, upstream: Upstream, visible: Sequence[str]
    ) -> Json:
        """Return a request with the tools that fit it, if later ones can have others."""
        provider = get_provider(upstream.interface)
        session = upstream.session
        if is_unknown(request, provider, session) or provider.is_keeping_tools(request):
            return request
        config = self._config
        choice = provider.choice(request)
        pins = {*offer.matching(config.always_keep), *choice.names, *visible}
        pins &= {*offer.names}
        filtered, deferred = local.filter_tools(
            provider.query(request),
            offer,
            min_tools=config.min_tools,
            # As in a search, what is visible takes no place of what is found.
            max_tools=config.max_tools + len(pins),
            target_ratio=config.target_ratio,
            always_keep=pins,
            recent=provider.recent(request),
            expanded=self._store.expanded(session),
        )
        if not deferred:
            return request
        kept = {*filtered, *offer.endings(choice.must_call)}
        names = [name for name in offer.names if name in kept]
        shown = [offer.by_name[name] for name in names]
        self._observers.filtered(provider.name, session, offer, shown)
        return provider.with_tools(request, offer.pick(names))


def is_unknown(request: Json, provider: Provider, session: str) -> bool:
    """Whether nobody knows which tools the conversation of a request has found.

    A result that goes back into a conversation that only the provider has names no session.
    """
    return not session and bool(provider.previous(request))


def find_session(request: Json, provider: Provider, scope: str = "") -> str:
    """Return the id of a request's conversation; empty without a user message.

    What a request says about its user belongs to it.
    """
    named = [request.get(key) for key in USER_KEYS]
    metadata = mapping(request.get("metadata"))
    named.append(metadata.get("user_id"))
    user = "\n".join(name for name in named if isinstance(name, str))
    first = provider.first_message(request)
    if first is None:
        return ""
    return hash_conversation(normalise(first), scope + user)
