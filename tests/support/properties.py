"""How property tests run here: no time limit per example, since a busy machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("suite", deadline=None, max_examples=60)
settings.load_profile("suite")
