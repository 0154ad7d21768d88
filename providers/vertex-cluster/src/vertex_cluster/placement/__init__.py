"""Placement of an AdaNet ensemble: the worker of each subnetwork, and the servers of its variables."""

from __future__ import annotations
