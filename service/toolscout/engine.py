"""The selector as a library: the same core that the server runs, without HTTP.

from toolscout import Engine

engine = Engine(tools)                       # in the shape of OpenAI, MCP, …
engine.search("create an issue", top_k=5)    # -> Result(names=['create_issue', …], …)
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Unpack, get_args

import msgspec

from toolscout.common.arguments import check_type, read_names, read_number
from toolscout.contract import fields
from toolscout.contract.answers import Counts, Match, Resolution
from toolscout.contract.fields import DEFAULT_TOP_K, Outcome, RankerName
from toolscout.contract.requests import Context, Filters, Messages, SearchOptions, Session
from toolscout.contract.tools import Tool, ToolDetail
from toolscout.errors import EmptyPattern, InvalidRequest, suggest
from toolscout.experience.examples import ExamplePriors
from toolscout.files.reading import read_content, read_entries
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.cold import ColdCatalog
from toolscout.index.compile import Compiler
from toolscout.index.details import describe_tools
from toolscout.index.embedder import load_embedder
from toolscout.index.encoder.encoder import Unread
from toolscout.index.lexicon import load_lexicon
from toolscout.index.source import Source
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.index.tool_list import MAX_TOOLS, ToolList
from toolscout.ranking.ask import Ask, DecideOptions, Decision, Question
from toolscout.ranking.calibration import WEAK
from toolscout.ranking.choose import NoMatch
from toolscout.ranking.decided import NO_EXPERIENCE, Decided
from toolscout.ranking.explain import add_evidence, explain, write_notes
from toolscout.ranking.pipeline import decide_together
from toolscout.ranking.resolve import Resolver
from toolscout.text import conversation
from toolscout.text.conversation import Conversation
from toolscout.tools.conversion import NONE_SKIPPED, Skipped, read_usable
from toolscout.tools.overlay import NO_OVERLAY, read_overlay

_TENANT = "local"
CHOICES = fields.CHOICES | {"no_match": get_args(NoMatch)}
"""Options with few values."""

_TYPES = {
    "filters": (Filters, "a Filters"),
    "session": (Session, "a Session"),
    "context": (Context, "a Context"),
    "prerequisites": (bool, "True or False"),
}
"""Options of one type, and its name in an error."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `Engine.search`."""

    names: list[str]
    """The selected tools, most relevant first, pins last."""
    outcome: Outcome
    ranker: str
    """The ranker that ran; with `auto`, the one it chose."""
    matches: list[Match]
    """Score and reasons of each selected tool; empty unless requested."""
    counts: Counts
    notes: list[str]
    tools: list[ToolDetail] = []
    """The selected tools at the requested level of detail; empty unless requested."""

    def __iter__(self) -> NoReturn:
        """Refuse to be taken for a list."""
        raise TypeError("a Result is not iterable; use its .names")


class Engine:
    """Search over one set of tools, in process.

    Args:
        tools: in OpenAI, Anthropic, MCP, Gemini, Bedrock or request shape, as dicts, dataclasses,
            pydantic models, `mcp.types.Tool`s or `Tool`s; or a mapping that carries the list, as an
            answer to MCP's `tools/list`; an OpenAPI document, whose operations are its tools; or
            the path of a file with any of these. What is no tool is skipped, with a warning in the
            log and a note in each result; so are a provider's built-ins without a name.
        model: a model2vec folder, or OWNER/NAME@COMMIT of the hub; None for the bundled model.
        ranker: the ranker when a search names none.
        no_match: what a search without a match returns: nothing, or the pins.
        no_match_below: calibrated score of the best tool, 0 to 1, below which nothing matches.
        synonyms: a TOML file with synonyms beside the bundled ones.
        domains: a TOML file with domains beside the bundled ones.
        overlay: a TOML file with what is added to tools, by name.
        max_tools: the most tools that it may have.
        encoder: whether meaning is also compared by a small transformer (the extra `encoder`). It
            takes some 10 ms of each new search, and as much of each tool of up to 2,000.

    Raises:
        InvalidRequest: there is no list of tools, or none in it is one; there is no such ranker; or
            `no_match_below` is not within 0 to 1.
        ConfigurationError: there is no such model, a file is malformed, or a package of the extra
            `encoder` is missing.
    """

    def __init__(  # noqa: PLR0913  # options of the public class
        self,
        tools: Iterable[Any] | Path = (),
        *,
        model: str | Path | None = None,
        ranker: RankerName = "auto",
        no_match: NoMatch = "empty",
        no_match_below: float = WEAK,
        synonyms: str | Path | None = None,
        domains: str | Path | None = None,
        overlay: str | Path | None = None,
        max_tools: int = MAX_TOOLS,
        encoder: bool = False,
    ) -> None:
        if read_number("max_tools", max_tools) < 1:
            raise InvalidRequest(f"max_tools must be at least 1, got {max_tools}")
        check_type("encoder", encoder, bool, "True or False")
        self.embedder = load_embedder(str(model or BUNDLED_MODEL), encoder)
        files = {"synonyms": synonyms, "domains": domains, "overlay": overlay}
        for name, value in files.items():
            check_type(name, value, str | Path | None, "the path of a file")
        words, taxonomy = load_lexicon(synonyms, domains)
        rows = read_overlay(Path(overlay)) if overlay else NO_OVERLAY
        self.compiler = Compiler(self.embedder, taxonomy=taxonomy, synonyms=words, overlay=rows)
        self._defaults = _check_options(
            {"ranker": ranker, "no_match": no_match, "no_match_below": no_match_below}
        )
        self.examples = ExamplePriors()
        self._decided = Decided()
        self._store = CatalogCache().tools(_TENANT)
        self._tools: dict[str, Tool] = {}
        self._skipped = NONE_SKIPPED
        self._max_tools = max_tools
        self.add(tools)

    def add(self, tools: Iterable[Any] | Path) -> None:
        """Add tools, or those of a file; one of a known name replaces it.

        Only new content is compiled.

        Raises:
            InvalidRequest: there is no list of tools, or none in it is one.
            InvalidJson: the file is neither JSON nor YAML.
            OSError: it cannot be read.
        """
        listed = read_entries(tools) if isinstance(tools, Path) else read_content(tools)
        if isinstance(listed, str | Mapping) or not isinstance(listed, Iterable):
            kind = type(listed).__name__
            raise InvalidRequest(f"tools: expected a list, or an object with `tools`, got {kind}")
        posted = read_usable(listed)
        self._skipped = posted.skipped if posted.skipped.entries else self._skipped
        # Of one name in a list the first counts, as in every request.
        self._tools.update({tool.name: tool for tool in reversed(posted.tools)})
        self.__dict__.pop("catalog", None)

    def remove(self, names: Iterable[str]) -> None:
        """Remove tools by name; unknown names are ignored.

        Raises:
            InvalidRequest: there is no list of names.
        """
        for name in read_names("names", names):
            self._tools.pop(name, None)
        self.__dict__.pop("catalog", None)

    @cached_property
    def catalog(self) -> Catalog:
        """Return the compiled tools; compile them on first use after a change."""
        tools = ToolList.of(self._tools.values(), self._max_tools)
        return self.compiler.compile(tools, self._store)

    def search(
        self,
        pattern: str | Sequence[Any],
        top_k: int = DEFAULT_TOP_K,
        *,
        explain: bool = False,
        **options: Unpack[SearchOptions],
    ) -> Result:
        """Select the tools for a query, or for what the messages of a conversation ask for.

        `filters` restrict which tools may be selected; tools below `min_score` are left out, pins
        excepted; `budget_tokens` is spent in rank order on tools shown at the level of `detail`
        (whole when it is None), which also fills `tools` of the result. `session` has earlier
        calls, `context` files and words of the work; both adjust scores slightly. `no_match_below`
        replaces the engine's own. With `prerequisites`, tools that find required ids are added.

        Raises:
            EmptyPattern: the pattern is blank, or no message is a user's.
            InvalidRequest: a message has no known shape, `top_k` is below 1, `min_score` or
                `no_match_below` not within 0 to 1, or `budget_tokens` below 0.
            TypeError: there is no such option.
        """
        conversation = Conversation(pattern) if isinstance(pattern, str) else _read(pattern)
        if not conversation.pattern.strip():
            raise EmptyPattern("pattern is blank")
        check_type("explain", explain, bool, "True or False")
        if read_number("top_k", top_k) < 1:
            raise InvalidRequest(f"top_k must be at least 1, got {top_k}")
        ask = self._ask(conversation, top_k, options)
        catalog = self.catalog
        prior = self.examples.of(catalog)
        if self.embedder.encoder is not None:
            self.embedder.encoder.open(catalog)
        decision = self.recall(catalog, ask, prior=prior) or self.decide(catalog, ask, prior=prior)
        result = self.result(catalog, decision, explain, self._skipped)
        if ask.detail is None:
            return result
        shown = describe_tools(catalog, decision.rows, ask.detail, filters=ask.filters)
        return msgspec.structs.replace(result, tools=shown)

    def _ask(self, conversation: Conversation, top_k: int, options: SearchOptions) -> Ask:
        if unknown := sorted(options.keys() - SearchOptions.__annotations__):
            valid = ("top_k", "explain", *SearchOptions.__annotations__)
            hint = suggest(unknown[0], valid)
            raise TypeError(f"{unknown[0]}: is no argument of search{hint}")
        fields = _check_options({key: value for key, value in options.items() if value is not None})
        budget = fields.get("budget_tokens", 0)
        if read_number("budget_tokens", budget) < 0:
            raise InvalidRequest(f"budget_tokens must be at least 0, got {budget}")
        fields["always_keep"] = read_names("always_keep", fields.get("always_keep", ()))
        return Ask(**self._defaults | fields, **msgspec.structs.asdict(conversation), top_k=top_k)

    def resolve(self, name: str) -> list[str]:
        """Return the tools of a written name: one, several when ambiguous, or none.

        Raises:
            InvalidRequest: the name is no text.
        """
        resolution = self.resolution(name)
        return [resolution.name] if resolution.name is not None else resolution.ambiguous or []

    def resolution(self, name: str) -> Resolution:
        """Return the tool that a written name means, or similar names.

        Raises:
            InvalidRequest: the name is no text.
        """
        check_type("name", name, str, "a text")
        return Resolver(self.catalog).resolve(name)

    def decide(self, catalog: Source, ask: Ask, **options: Unpack[DecideOptions]) -> Decision:
        """Answer a question from a catalog of this engine's compiler."""
        return self.decide_together([(catalog, ask, options)])[0]

    def decide_together(self, questions: Sequence[Question]) -> list[Decision]:
        """Answer several questions, in less time than one by one."""
        check_type("questions", questions, Sequence, "a list of questions")
        for question in questions:
            check_type("questions", question, tuple, "catalog, ask and options of each")
            _check_question(*question)
        decisions = decide_together(questions, self.embedder)
        for (catalog, ask, options), decision in zip(questions, decisions, strict=True):
            version = _find_version(options)
            is_complete = explain_unread(decision) is None
            if isinstance(catalog, Catalog) and version is not None and is_complete:
                self._decided.keep(catalog, ask, decision, version)
        return decisions

    def recall(
        self, catalog: Catalog, ask: Ask, **options: Unpack[DecideOptions]
    ) -> Decision | None:
        """Return the same decision as `decide` if it was made before and is remembered."""
        _check_question(catalog, ask, options)
        version = _find_version(options)
        return None if version is None else self._decided.find(catalog, ask, version)

    @staticmethod
    def result(
        catalog: Catalog, decision: Decision, explained: bool, skipped: Skipped = NONE_SKIPPED
    ) -> Result:
        """Convert a decision to the result for callers."""
        check_type("catalog", catalog, Catalog, "a catalog")
        check_type("decision", decision, Decision, "a Decision")
        check_type("explained", explained, bool, "True or False")
        check_type("skipped", skipped, Skipped, "a Skipped")
        ranking = decision.ranking
        return Result(
            names=list(decision.names),  # the decision may be remembered
            outcome=ranking.outcome,
            ranker=ranking.ranker,
            matches=explain(decision) if explained else [],
            counts=Counts(
                offered=len(catalog),
                unique=len(catalog),
                ranked=add_evidence(ranking),
                selected=len(decision.names),
                skipped=skipped.entries + len(catalog.skipped),
            ),
            notes=[*skipped.notes, *write_notes(ranking)],
        )


def explain_unread(decision: Decision) -> Unread | None:
    """Return why the transformer did not take part in a decision; None if it did, or is off."""
    vectors = decision.ranking.vectors
    return None if vectors is None else vectors.unread


def _find_version(options: DecideOptions) -> int | None:
    """Return the version of the experience; None if a decision depends on more than this."""
    if any(option is not None for name, option in options.items() if name != "prior"):
        return None
    prior = options.get("prior")
    return NO_EXPERIENCE if prior is None else prior.version


def _check_question(catalog: object = None, ask: object = None, options: object = None) -> None:
    check_type("catalog", catalog, Catalog | ColdCatalog, "a catalog")
    check_type("ask", ask, Ask, "an Ask")
    check_type("options", options, dict, "a dict")


def _read(messages: Sequence[Any]) -> Conversation:
    if isinstance(messages, bytes | Mapping) or not isinstance(messages, Sequence):
        kind = type(messages).__name__
        raise InvalidRequest(f"pattern: expected a text or a list of messages, got {kind}")
    try:
        return conversation.read(msgspec.convert(messages, Messages, from_attributes=True))
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"messages: {error}") from None


def _check_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as they are, if those with few values have one of these.

    Raises:
        InvalidRequest: one has not, or has another type.
    """
    for name in ("min_score", "no_match_below"):
        value = options.get(name, 0)
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InvalidRequest(f"{name} must be within 0 to 1, got {value!r}")
    for name in _TYPES.keys() & options.keys():
        check_type(name, options[name], *_TYPES[name])
    for name in CHOICES.keys() & options.keys():
        value = options[name]
        choices = CHOICES[name]
        if value not in choices:
            hint = suggest(value, choices)
            expected = f"expected one of {', '.join(choices)}"
            raise InvalidRequest(f"{name}: {expected}, got {value!r}{hint}")
    return options
