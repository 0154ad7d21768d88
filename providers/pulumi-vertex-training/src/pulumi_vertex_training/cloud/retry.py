"""Decide which errors are transient, and how long to retry."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from pulumi_vertex_training.cloud import imports
from pulumi_vertex_training.cloud.endpoint import Endpoint

if TYPE_CHECKING:
    from google.api_core.retry import Retry

TRANSIENT_CODES = frozenset({408, 429, 500, 502, 503, 504})


@functools.lru_cache(maxsize=4)
def _retry(local: bool, seconds: float) -> Retry:
    imports.load_transport()
    from google.api_core.retry import Retry

    # Retry draws each delay at random between zero and the current back-off.
    return Retry(
        predicate=_transient_locally if local else is_transient,
        initial=0.1 if local else 0.5,
        maximum=2.0 if local else 10.0,
        multiplier=1.6,
        timeout=seconds,
    )


def for_idempotent(endpoint: Endpoint) -> Retry:
    """Return a jittered back-off with a deadline, for calls that may safely run twice."""
    timeouts = endpoint.timeouts
    local = endpoint.is_emulator
    return _retry(local, timeouts.retry_emulator if local else timeouts.retry_google)


def is_transient(error: BaseException) -> bool:
    """Return whether a retry may succeed: 408, 429, 5xx except 501, or no or a broken connection."""
    imports.load_transport()
    import requests
    import urllib3
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import TransportError

    if isinstance(error, GoogleAPICallError):
        return error.code in TRANSIENT_CODES
    if isinstance(error, TransportError):
        return not error.args or not isinstance(error.args[0], BaseException) or is_transient(error.args[0])
    if isinstance(error, requests.exceptions.SSLError):
        return False
    response = getattr(error, "response", None)
    if response is not None:  # InvalidResponse of google.cloud.storage
        return getattr(response, "status_code", None) in TRANSIENT_CODES
    broken: tuple[type[BaseException], ...] = (
        requests.ConnectionError,
        requests.Timeout,
        requests.exceptions.ChunkedEncodingError,
        urllib3.exceptions.ProtocolError,
        urllib3.exceptions.TimeoutError,
        ConnectionError,
    )
    return isinstance(error, broken)


def was_refused(error: BaseException) -> bool:
    """Return whether nothing listens at the address, so that nothing was sent."""
    imports.load_transport()
    from urllib3.exceptions import NewConnectionError

    return _any_in_chain(error, lambda one: isinstance(one, (NewConnectionError, ConnectionRefusedError)))


def _transient_locally(error: BaseException) -> bool:
    # An emulator that does not listen has ended and does not restart by itself.
    return is_transient(error) and not was_refused(error)


def _any_in_chain(error: BaseException, matches: Callable[[BaseException], bool]) -> bool:
    pending: list[object] = [error]
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        if matches(one):
            return True
        seen.add(id(one))
        pending += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
    return False
