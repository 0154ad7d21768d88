"""The `custom_timeouts` of a resource, as an input: Pulumi's host of dynamic providers drops the engine's."""

from __future__ import annotations

import re
from typing import Any

import pulumi

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def declared(opts: pulumi.ResourceOptions | None) -> dict[str, Any] | None:
    """Return the timeouts among a resource's options, for its inputs; None if none are given.

    Raises `pulumi.RunError` for a value that is not a duration.
    """
    timeouts = opts.custom_timeouts if opts else None
    given = {name: _seconds(getattr(timeouts, name, None)) for name in ("create", "update")}
    return {name: value for name, value in given.items() if value is not None} or None


def _seconds(given: object) -> float | None:
    """Return the seconds of a timeout as Pulumi writes it: "10m", "1h30m"."""
    if given is None:
        return None
    text = str(given)
    parts = re.findall(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise pulumi.RunError(f"custom_timeouts: {text!r} is not a duration. Write one such as 10m or 1h30m.")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
