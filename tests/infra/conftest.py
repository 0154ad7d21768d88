"""Emulators of these tests are forks of a warm interpreter."""

from __future__ import annotations

from support.emulated.warm_emulators import _warm_emulators as _warm_emulators
