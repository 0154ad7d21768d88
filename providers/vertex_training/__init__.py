"""What a training job is: specs, rules and environments, shared by the client and the emulator."""

from __future__ import annotations

__version__ = "0.1.0"
