"""Prepare a request: decide whether its tools are deferred, and which."""

import os
from collections.abc import Sequence

from toolscout.client.known import share_lists
from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.client.rollout import Rollout
from toolscout.discovery import local
from toolscout.discovery.left_out import Upstream
from toolscout.discovery.observing import TurnObservers, tokens_of
from toolscout.discovery.opening import TurnSettings
from toolscout.discovery.providers import Json, Provider, provider_named
from toolscout.discovery.providers.fields import mapping
from toolscout.discovery.providers.native import MARK, is_deferring, written_out
from toolscout.discovery.providers.provider import Choice
from toolscout.discovery.session import canonical, hashed
from toolscout.discovery.turn import Turn

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
        provider = provider_named(upstream.interface)
        if streams and provider.stream is None and self._config.strategy != "relevance":
            return request
        try:
            model = request.get("model") or request.get("modelId")
            upstream = upstream._replace(model=str(model or ""))
            return self._turn_or_body(provider.resumed(request, upstream.scope), session, upstream)
        except Exception:
            logger.warning("a request could not be prepared and is forwarded as it came")
            return request

    def _turn_or_body(self, request: Json, session: str | None, upstream: Upstream) -> Turn | Json:
        strategy = self._config.strategy
        scope = upstream.scope
        provider = provider_named(upstream.interface)
        tools = provider.tools(request)
        if strategy == "passthrough" or provider.passes(request):
            return request
        previous = provider.previous(request)
        if session is None:
            of_response = self._store.session_of(previous, scope)
            session = of_response or session_of(request, provider, scope)
        if not tools and strategy != "relevance" and request.keys().isdisjoint(TOOL_KEYS):
            tools = self._store.deferred_tools(session, provider.name)
        # A result that goes back into a conversation that only the provider has names no session,
        # so nobody knows which tools it has found.
        is_unknown = not session and bool(previous)
        is_used = self._rollout.includes(session, call=os.urandom(8).hex())
        written = written_out(provider, request, tools)
        offer = self._known.make_offer(written.tools)
        if not is_used or offer.once(MARK, lambda: any(map(is_deferring, written.tools))):
            if is_used:
                logger.info("the request searches deferred tools by itself and is left alone")
            return request
        request, tools, visible = written
        if offer.odd:
            logger.warning("tools%s: no object with a name, and left out", [*offer.odd])
            offer = Offer([tool for n, tool in enumerate(tools) if n not in offer.odd])
        upstream = upstream._replace(session=session)
        every = offer
        choice = provider.choice(request)
        keeps = provider.keeps_tools(request)
        offer = self._settings.left_out.leave_out(every, upstream, choice.names)
        if offer is not every and offer.names:  # else the refusal tells more than no tool
            request = provider.with_tools(request, offer.everything)
        if self._is_small(offer, visible):
            return request
        if strategy == "relevance":
            is_kept = is_unknown or keeps
            return request if is_kept else self._filtered(request, provider, offer, session, choice)
        turn = Turn(request, offer, self._settings, upstream, visible)
        if keeps and not turn.is_native:
            self._tell_of_threads()
        elif not is_unknown or (turn.is_native and not turn.shown.has_room_for_all):
            return turn
        return request if keeps else turn.original

    def _is_small(self, offer: Offer, visible: Sequence[str]) -> bool:
        """Whether the tools are so few, or their definitions so short, that none is deferred."""
        most = self._config.defer_above or 0
        tokens = self._config.defer_above_tokens or 0
        is_short = tokens > 0 and tokens_of(offer) <= tokens
        return is_short or len({*offer.names} - {*visible}) <= most

    def _tell_of_threads(self) -> None:
        if not self._told_of_threads:
            self._told_of_threads = True
            logger.warning(KEPT_BY_THREADS)

    def _filtered(
        self, request: Json, provider: Provider, offer: Offer, session: str, choice: Choice
    ) -> Json:
        config = self._config
        pins = {*offer.matching(config.always_keep), *choice.names} & {*offer.names}
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
        kept = dict.fromkeys((*filtered, *offer.endings(choice.must_call)))
        names = [name for name in offer.names if name in kept]
        shown = [offer.by_name[name] for name in names]
        self._observers.filtered(provider.name, session, offer, shown)
        return provider.with_tools(request, offer.pick(names))


def session_of(request: Json, provider: Provider, scope: str = "") -> str:
    """Return the id of a request's conversation; empty without a user message.

    What a request says about its user belongs to it.
    """
    named = [request.get(key) for key in USER_KEYS]
    named.append(mapping(request.get("metadata")).get("user_id"))
    user = "\n".join(name for name in named if isinstance(name, str))
    first = provider.first_message(request)
    return "" if first is None else hashed(canonical(first), scope + user)
