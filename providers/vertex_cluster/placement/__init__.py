"""Which worker builds and trains which part of an AdaNet ensemble, and where its variables are."""

from __future__ import annotations
