"""Distributed training jobs on Vertex AI: topology, specs, gateways, emulator; knows nothing of Pulumi."""

from __future__ import annotations

__version__ = "0.1.0"
