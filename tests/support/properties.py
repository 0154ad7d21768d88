"""Settings of property tests: no time limit per example, since a busy machine is no failure."""

from __future__ import annotations

import os

from hypothesis import settings


def examples(count: int) -> int:
    """Return the number of random examples for a property that deserves `count`.

    `make test` tries a third of them, other ones each time. PROPERTIES=all in the environment tries all.
    """
    return count if os.environ.get("PROPERTIES") == "all" else max(count // 3, 10)


settings.register_profile("suite", deadline=None, max_examples=examples(60))
settings.load_profile("suite")
