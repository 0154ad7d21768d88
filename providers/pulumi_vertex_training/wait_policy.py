"""What a deployment waits for, how long, and what becomes of the job when it is interrupted; checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pulumi

Wait = Literal["none", "running", "done"]
OnInterrupt = Literal["leave", "cancel"]

WAITS: tuple[Wait, ...] = ("none", "running", "done")
ON_INTERRUPT: tuple[OnInterrupt, ...] = ("leave", "cancel")
DEFAULT_TIMEOUT = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class WaitPolicy:
    """`until`: what to wait for; `timeout`: seconds after which waiting ends with a warning, `inf` for never;
    `on_interrupt`: what becomes of the job when the deployment ends while it waits; `stream_logs`: whether
    the log is shown meanwhile. It is the program's alone: the job, its state and its hash know nothing of it.
    """

    until: Wait = "running"
    timeout: float = DEFAULT_TIMEOUT
    on_interrupt: OnInterrupt = "leave"
    stream_logs: bool = False

    @property
    def waits(self) -> bool:
        return self.until != "none"

    @property
    def cancels(self) -> bool:
        """Whether an interrupted wait cancels the job."""
        return self.waits and self.on_interrupt == "cancel"


def checked(
    resource: str, *, wait: Any, wait_timeout: Any, on_interrupt: Any, stream_logs: Any
) -> WaitPolicy:
    """The policy. Raises `pulumi.RunError` with the argument, its value, the rule and the remedy."""
    _require_one_of(resource, "wait", wait, WAITS)
    _require_one_of(resource, "on_interrupt", on_interrupt, ON_INTERRUPT)
    if not isinstance(stream_logs, bool):
        raise pulumi.RunError(f"{resource}: stream_logs is {stream_logs!r}; it must be True or False")
    if (
        isinstance(wait_timeout, bool)
        or not isinstance(wait_timeout, (int, float))
        or math.isnan(wait_timeout)
        or wait_timeout < 0
    ):
        raise pulumi.RunError(
            f"{resource}: wait_timeout is {_shown(wait_timeout)}; it must be a number of seconds from 0, "
            'such as 3600, or float("inf") to wait without a limit'
        )
    return WaitPolicy(
        until=wait, timeout=float(wait_timeout), on_interrupt=on_interrupt, stream_logs=stream_logs
    )


def _require_one_of(resource: str, name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        *most, last = [repr(one) for one in allowed]
        raise pulumi.RunError(
            f"{resource}: {name} is {_shown(value)}; it must be {', '.join(most)} or {last}"
        )


def _shown(value: object) -> str:
    return "an Output, which is known too late" if isinstance(value, pulumi.Output) else repr(value)
