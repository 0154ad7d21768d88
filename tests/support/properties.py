"""Settings of property tests: no time limit for an example, since a busy machine is not a failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("suite", deadline=None, max_examples=60)
settings.load_profile("suite")
