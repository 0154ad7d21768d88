"""What a deployment waits for, how long, and what becomes of the job when it is interrupted; checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pulumi_vertex_training.program.checks import flag, one_of, seconds

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


def findings(policy: WaitPolicy) -> list[str | None]:
    """What is wrong with the policy as it was given: the argument, its value, the rule and the remedy."""
    return [
        one_of("wait", policy.until, WAITS),
        seconds("wait_timeout", policy.timeout),
        one_of("on_interrupt", policy.on_interrupt, ON_INTERRUPT),
        flag("stream_logs", policy.stream_logs),
    ]
