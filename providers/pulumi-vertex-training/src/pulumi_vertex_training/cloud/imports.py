"""Import Google's libraries in one thread at a time.

A provider process makes its first calls in four threads. If two of them import parts of one package in
different orders, Python detects a deadlock of its import locks, and one import fails
(`_DeadlockError: deadlock detected by _ModuleLock('urllib3')`, https://github.com/python/cpython/issues/82272).
"""

from __future__ import annotations

import functools
import importlib
import threading

LOCK = threading.RLock()
"""Hold it while Google's packages are imported for the first time."""


_TRANSPORT = (
    "google.api_core.exceptions",
    "google.api_core.retry",
    "google.auth.transport.requests",
    "google.protobuf.json_format",
    "requests.adapters",
    "urllib3.exceptions",
)


def load_transport() -> None:
    """Import what all calls share: `requests`, `google.auth` and `google.api_core`. Cheap after the first."""
    with LOCK:
        _load_transport()


@functools.cache
def _load_transport() -> None:
    for name in _TRANSPORT:
        importlib.import_module(name)
