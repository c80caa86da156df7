"""Authentication by API keys, which are stored as hashes and belong to tenants.

Keys from a file (`TOOLSCOUT_API_KEYS_FILE`) change while the service runs: every process reads it
once a second. Once its text differs and has stayed the same for two seconds, or at once on SIGHUP,
the new keys hold from the next request on. A file that is missing, empty or malformed changes
nothing: the keys so far stay, and the log says why.
"""

import re
import stat
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from toolscout.contract.requests import Filters
from toolscout.errors import ConfigurationError
from toolscout.serving.callers import MIN_KEY_CHARS
from toolscout.serving.connections import Events
from toolscout.serving.followed_files import FollowedFiles
from toolscout.tools.filters import ANONYMOUS, space_of

KeyScope = Literal["search", "feedback", "write", "admin"]
"""What a key allows: to search and read catalogs, to report what worked, to change catalogs, and to
see and delete figures and what was learned."""

SCOPES: frozenset[KeyScope] = frozenset(get_args(KeyScope))

OF_A_PART: frozenset[KeyScope] = frozenset(("search", "feedback"))
"""Scopes of a key that sees a part of the tools: the others show or change all of them."""

_COMMENT = re.compile(r"(^|[\s,])#.*")
_OPTION = re.compile(r";\s*(\w+)\s*=([^;]*)$")


class ApiKey(NamedTuple):
    """What is known of a key; never the key itself."""

    tenant: str
    name: str
    """The beginning of its hash, for the log."""
    hashed: bytes = b""
    scopes: frozenset[KeyScope] = SCOPES
    expires: datetime | None = None
    space: str = ""
    """The tools that it sees: the tenant's, or those that pass its filters (`tools.filters`)."""

    @property
    def has_expired(self) -> bool:
        """Whether it may not be used any more."""
        return self.expires is not None and datetime.now(UTC) >= self.expires


NO_KEY = ApiKey(ANONYMOUS, "", space=ANONYMOUS)
"""Stands for every caller where there are no keys."""


class Keyring:
    """The configured keys. Without any, all callers are one anonymous tenant."""

    def __init__(self, keys: str | None) -> None:
        """Parse comma-separated `key` or `tenant=key`; a bare key is a separate tenant.

        `;scopes=search+feedback`, `;expires=2027-01-31` and filters of the tools that it sees, such
        as `;tags=finance;max_risk=read_only`, may follow a key.

        Raises:
            ConfigurationError: a key is too short, has a wrong option, or came before with another
                tenant or other options; names its position, never its value.
        """
        self.keys: list[ApiKey] = []
        """What is known of each key, in their order."""
        self._by_hash: dict[bytes, ApiKey] = {}
        for number, entry in enumerate(_split_entries(keys or ""), 1):
            try:
                key = _read_key(entry)
                if self._by_hash.setdefault(key.hashed, key) != key:
                    raise ConfigurationError(" came before, with another tenant or other options")
                self.keys.append(key)
            except ConfigurationError as error:
                raise ConfigurationError(f"api_keys: key {number}{error.detail}") from None
        self.is_shared = len({key.tenant for key in self.keys}) > 1
        """Whether more than one tenant may call."""

    def __len__(self) -> int:
        return len(self.keys)

    def find_wider(self, before: "Keyring") -> list[tuple[str, str]]:
        """Return the keys, by name, that may do more than they might, each with what."""
        former = {key.hashed: key for key in before.keys}
        gains = ((key.name, _list_gains(former.get(key.hashed, key), key)) for key in self.keys)
        return [(name, ", ".join(rights)) for name, rights in gains if rights]

    @property
    def tenants(self) -> list[str]:
        """Return all tenants."""
        return list(dict.fromkeys(key.tenant for key in self.keys)) or [ANONYMOUS]

    def find(self, headers: Iterable[tuple[bytes, bytes]]) -> ApiKey | None:
        """Return the key of a request, or None without a known one; it may have expired.

        The key may be in `Authorization: Bearer` or `X-API-Key`, or in both. Two different keys are
        refused, because either could be meant. A key is looked up by its hash: how long that takes
        tells something of hashes alone, and from those no key of 32 characters is found.
        """
        if not self.keys:
            return NO_KEY
        presented = _collect_presented(headers)
        if len(presented) != 1:
            return None
        return self._by_hash.get(sha256(presented.pop()).digest())


def explain_refusal(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return why a request without a known key is refused; repeats no key."""
    presented = _collect_presented(headers)
    if len(presented) > 1:
        return "two different keys were sent; send one"
    if not presented:
        return "no key was sent; send Authorization: Bearer KEY or X-API-Key: KEY"
    if b"=" in presented.pop().rstrip(b"="):
        return "this service has no such key; of tenant=KEY in its settings, send KEY alone"
    return "this service has no such key"


def _list_gains(old: ApiKey, new: ApiKey) -> list[str]:
    gains = [f"scope {scope}" for scope in sorted(new.scopes - old.scopes)]
    if new.tenant != old.tenant:
        gains.append(f"tenant {new.tenant}")
    elif new.space != old.space and old.space != old.tenant:
        gains.append("all tools" if new.space == new.tenant else "other tools")
    if old.expires is not None and (new.expires is None or new.expires > old.expires):
        gains.append("longer")
    return gains


def _collect_presented(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    """Collect the different keys that a request shows."""
    keys = set()
    for name, value in headers:
        if name == b"x-api-key":
            keys.add(value.strip())
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            keys.add(value[7:].strip())
    return keys - {b""}


def _split_entries(keys: str) -> list[str]:
    """Split the text of a setting or a file; a `#` after a blank or comma begins a comment."""
    lines = [_COMMENT.sub("", line) for line in keys.removeprefix("\ufeff").splitlines()]
    return [entry.strip() for entry in ",".join(lines).split(",") if entry.strip()]


def _read_key(entry: str) -> ApiKey:
    """Return what is known of a key."""
    tenant, key, options = _split_entry(entry)
    if len(key) < MIN_KEY_CHARS:
        raise ConfigurationError(f" has {len(key)} characters; at least {MIN_KEY_CHARS} are needed")
    if len(key.split()) > 1:
        raise ConfigurationError(" has a blank in it")
    hashed = sha256(key.encode()).digest()
    name = hashed.hex()[:12]
    tenant = tenant or f"key-{name}"
    filters = _read_filters(options)
    scopes = _read_scopes(options.get("scopes"), is_filtered=filters is not None)
    expires = _read_date(options.get("expires"))
    return ApiKey(tenant, name, hashed, scopes, expires, space_of(tenant, filters))


def _split_entry(entry: str) -> tuple[str, str, dict[str, str]]:
    """Return tenant, key and options of `acme=KEY;scopes=search`.

    Base64 padding of a bare key is no separator.
    """
    options: dict[str, str] = {}
    while option := _OPTION.search(entry):
        options[option[1]] = option[2].strip()
        entry = entry[: option.start()].rstrip()
    tenant, separator, key = entry.partition("=")
    if separator and (key.strip("=") or len(tenant) < MIN_KEY_CHARS):
        return tenant.strip(), key.strip(), options
    return "", entry, options


def _read_filters(options: dict[str, str]) -> Filters | None:
    """Return the filters among the options; of several values each is an alternative."""
    fields: dict[str, Any] = {key: options[key] for key in options.keys() - {"scopes", "expires"}}
    if unknown := fields.keys() - set(Filters.__struct_fields__):
        raise ConfigurationError(
            f": there is no option {', '.join(sorted(unknown))}; the options "
            f"are scopes, expires, {', '.join(Filters.__struct_fields__)}"
        )
    for key, text in fields.items():
        values = [part.strip() for part in text.split("+") if part.strip()]
        if not values:
            raise ConfigurationError(f": {key} has no value")
        fields[key] = values if key != "max_risk" else values[0]
    try:
        return msgspec.convert(fields, Filters) if fields else None
    except msgspec.ValidationError as error:
        raise ConfigurationError(f": {error}") from None


def _read_scopes(text: str | None, *, is_filtered: bool) -> frozenset[KeyScope]:
    if text is None:
        return OF_A_PART if is_filtered else SCOPES
    named: frozenset[Any] = frozenset(part.strip() for part in text.split("+"))
    if not named <= SCOPES:
        unknown = ", ".join(sorted(named - SCOPES)) or "nothing"
        raise ConfigurationError(
            f": there is no scope {unknown}; "
            f"the scopes are {', '.join(get_args(KeyScope))}, joined by +"
        )
    if is_filtered and not named <= OF_A_PART:
        raise ConfigurationError(": one with filters can search and report, and nothing else")
    return named


def _read_date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        why = ": expires is no date such as 2027-01-31 or 2027-01-31T12:00:00Z"
        raise ConfigurationError(why) from None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


class KeyFile:
    """The file with the keys, which said `seen` last."""

    def __init__(
        self,
        path: Path,
        seen: str,
        accept: Callable[[Keyring], None],
        log: Events,
        count: Callable[[str], object],
        parse: Callable[[str], Keyring] = Keyring,
    ) -> None:
        self.path = path
        self.accept = accept
        self.log = log
        self.count = count
        """Counts each change: `ok` or `refused`."""
        self.parse = parse
        """Reads the text of the file, or raises a `ConfigurationError`."""
        self._is_warned = False
        self._keys = parse(seen)
        self.files = FollowedFiles(self._text, self._use, seen)

    def _use(self, text: str) -> None:
        """Use what the file says now, if that is right."""
        try:
            keys = self.parse(text)
            if not len(keys):
                raise ConfigurationError("no key in it")
        except ConfigurationError as error:
            self.count("refused")
            self.log.error("keys_kept", file=str(self.path), reason=error.detail)
            return
        wider = keys.find_wider(self._keys)
        self._keys = keys
        self.accept(keys)
        self.count("ok")
        for name, what in wider:
            self.log.warning("keys_widened", key=name, what=what)
        self.log.info("keys_changed", keys=len(keys), tenants=len(keys.tenants))

    def _text(self) -> str:
        try:
            mode = self.path.stat().st_mode
            if not stat.S_ISREG(mode):
                return ""  # reading a pipe would wait for its writer
            is_open = bool(mode & stat.S_IWOTH)
            if is_open and not self._is_warned:
                reason = "every user of this machine may write it"
                self.log.warning("keys_unprotected", file=str(self.path), reason=reason)
            self._is_warned = is_open
            return self.path.read_text("utf-8-sig").strip()
        except (OSError, UnicodeDecodeError):
            return ""  # as if it were empty: no keys, so those so far stay
