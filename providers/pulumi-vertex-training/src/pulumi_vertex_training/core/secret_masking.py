"""Masking of secrets: a value that the program marked as secret is never printed.

The engine hands secrets to a provider like any other values, and a check failure that names a property prints
its value. So a resource reports beside its inputs where its secrets are
(`program.secret_paths`). The provider removes their values from its lines and errors; no state keeps the
paths.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vertex_training.fields.schema import child
from vertex_training.findings.words import short_image

KEY = "secret_paths"
"""The input in which a resource reports where its secrets are."""

SHOWN = "[secret]"

_EVERYWHERE = 4
"""The least length of a text that is masked in every line of the process.

A shorter text, and a number, is masked only in messages about its own resource: otherwise any line could lose
its numbers.
"""

_WORD = 12
"""The least length of a name that is masked inside other words: shorter ones may be part of a field's name.
"""

_CUT = 40
"""Messages may show only the beginning of a text that is longer, and "..."."""

_HOSTS = (".dev", ".io", ".com")


class Secrets:
    """The secrets known to one provider process. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: frozenset[str] = frozenset()
        self._own: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar(
            "own secrets", default=frozenset()
        )
        self._paths: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar(
            "paths of secrets", default=frozenset()
        )

    @contextlib.contextmanager
    def of_call(self, properties: Sequence[Mapping[str, Any]]) -> Iterator[None]:
        """Take note of the secrets in the properties of a call, for as long as the context lasts.

        A path that one of the old and new properties reports counts for all.
        """
        paths = frozenset(_folded(path) for props in properties for path in props.get(KEY) or ())
        own: set[str] = set()
        if paths:
            own = {text for props in properties for path, text in _texts(props, "") if _is_below(path, paths)}
            with self._lock:
                self._texts |= {text for text in own if len(text) >= _EVERYWHERE and not _is_number(text)}
        token, token_of_paths = self._own.set(frozenset(own)), self._paths.set(paths)
        try:
            yield
        finally:
            self._own.reset(token)
            self._paths.reset(token_of_paths)

    def covers(self, path: str) -> bool:
        """Return whether the value at a path is a secret of this call, or part of one."""
        return _is_below(path, self._paths.get())

    def forget(self) -> None:
        """Forget all secrets, as when the process began."""
        with self._lock:
            self._texts = frozenset()

    def masked(self, message: str) -> str:
        """Return the message without the secrets in it."""
        own = self._own.get()
        for text in sorted(self._texts | own, key=len, reverse=True):
            message = _without(message, text)
        for text in own:
            message = _without_likes(message, text)
            for part in _telling_parts(text):
                message = _without_token(message, part)
        return message


SECRETS = Secrets()


def texts(value: object) -> Iterator[str]:
    """Yield the texts in a value, and its numbers as texts."""
    yield from (text for _, text in _texts(value, ""))


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield every value at and below a path as the texts that a message may show, with their paths."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        yield path, f"{value:.15g}"
        yield path, str(value)
    elif isinstance(value, str) and value:
        yield path, value
    for name, item in items(value, path):
        yield from _texts(item, name)


def items(value: object, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the values directly below a value, with their paths."""
    if isinstance(value, Mapping):
        yield from ((child(path, str(name)), item) for name, item in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"{path}[{position}]", item) for position, item in enumerate(value))


def _is_below(path: str, paths: frozenset[str]) -> bool:
    """Return whether a path is one of these or below one, in any spelling of the names."""
    path = _folded(path)
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in paths)


def _folded(path: str) -> str:
    return path.replace("_", "").lower()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", text) is not None


def _without(message: str, text: str) -> str:
    if len(text) < _EVERYWHERE or _is_number(text):
        return _without_token(message, text)
    for form in (repr(text), text, repr(text)[1:-1], short_image(text)):
        if form.isidentifier() and len(form) < _WORD:
            message = re.sub(rf"(?<!\w){form}(?!\w)", SHOWN, message)
        else:
            message = message.replace(form, SHOWN)
    if len(text) <= _CUT:
        return message
    return re.sub(rf"'?{re.escape(text[:_WORD])}[^']*'?\.\.\.", SHOWN, message)


def _without_token(message: str, text: str) -> str:
    # A number in brackets is a list index.
    token = rf"(?<![\w./-]){re.escape(text)}(?![\w/-]|\.\w)"
    return re.sub(rf"'{re.escape(text)}'|(?<!\[){token}|{token}(?!\])", SHOWN, message)


def _telling_parts(text: str) -> list[str]:
    """Return the parts of a name with parts that a message may show.

    That is its last part, and others that are neither words of the API such as "projects" nor hosts.
    """
    parts = [part for part in re.split(r"[/=@\s]+", text) if len(part) >= _EVERYWHERE]
    return [
        part
        for position, part in enumerate(parts)
        if position == len(parts) - 1 or not (part.isalpha() or part.endswith(_HOSTS))
    ]


def _without_likes(message: str, text: str) -> str:
    """Return the message without names that a remedy makes of the text: `gpu-pool` of "GPU pool"."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    if len(words) < 2:
        return message
    like = r"[\W_]{1,3}".join(words)
    return re.sub(rf"(?<![A-Za-z0-9]){like}(?![A-Za-z0-9])", SHOWN, message, flags=re.IGNORECASE)
