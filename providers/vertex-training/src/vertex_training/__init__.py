"""Training jobs as pure data, shared by the client and the emulator: specs, rules, environments."""

from __future__ import annotations

__version__ = "0.1.0"
