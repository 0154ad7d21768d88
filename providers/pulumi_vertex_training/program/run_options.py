"""The options that all resources which run share, beside the spec of their kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pulumi

from pulumi_vertex_training.program import checks as arguments
from pulumi_vertex_training.program.checks import flag, one_of, seconds
from pulumi_vertex_training.program.references import BucketLike, bucket_location, bucket_name
from pulumi_vertex_training.program.resource import place
from pulumi_vertex_training.runs.deletion_policy import OnDelete
from pulumi_vertex_training.runs.rerun import DEFAULT_LIMIT, Policy

Wait = Literal["none", "running", "done"]
OnInterrupt = Literal["leave", "cancel"]

WAITS: tuple[Wait, ...] = ("none", "running", "done")
ON_INTERRUPT: tuple[OnInterrupt, ...] = ("leave", "cancel")
DEFAULT_WAIT_TIMEOUT = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class WaitPolicy:
    """`until`: what to wait for; `timeout`: seconds after which waiting ends with a warning, `inf` for never;
    `on_interrupt`: what becomes of the job when the deployment ends while it waits; `stream_logs`: whether
    the log is shown meanwhile. It is the program's alone: the job, its state and its hash know nothing of it.
    """

    until: Wait = "running"
    timeout: float = DEFAULT_WAIT_TIMEOUT
    on_interrupt: OnInterrupt = "leave"
    stream_logs: bool = False

    @property
    def waits(self) -> bool:
        return self.until != "none"

    @property
    def cancels(self) -> bool:
        """Whether an interrupted wait cancels the job."""
        return self.waits and self.on_interrupt == "cancel"


def wait_findings(policy: WaitPolicy) -> list[str | None]:
    """What is wrong with the policy as it was given: the argument, its value, the rule and the remedy."""
    return [
        one_of("wait", policy.until, WAITS),
        seconds("wait_timeout", policy.timeout),
        one_of("on_interrupt", policy.on_interrupt, ON_INTERRUPT),
        flag("stream_logs", policy.stream_logs),
    ]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """`CustomJob` says what each means.

    A resource has each in its signature and hands it on by name: editors, `help` and the hint for a misspelt
    argument get names and defaults from the signature. A test holds the signatures together.
    """

    staging_bucket: BucketLike | None = None
    framework: str | None = None
    allow_unknown_types: bool = False
    allow_legacy_types: bool = False
    run_token: pulumi.Input[str] | None = None
    rerun: str = "on_change"
    rerun_limit: int = DEFAULT_LIMIT
    protect_running: bool = False
    on_delete: str = "delete"
    adopt: pulumi.Input[str] | None = None
    taking_over: pulumi.Input[str] | None = None
    wait: Wait = "running"
    wait_timeout: float = DEFAULT_WAIT_TIMEOUT
    on_interrupt: OnInterrupt = "leave"
    stream_logs: bool = False
    project: pulumi.Input[str] | None = None
    location: pulumi.Input[str] | None = None
    opts: pulumi.ResourceOptions | None = None

    @property
    def wait_policy(self) -> WaitPolicy:
        return WaitPolicy(
            until=self.wait,
            timeout=self.wait_timeout,
            on_interrupt=self.on_interrupt,
            stream_logs=self.stream_logs,
        )

    def findings(self) -> Iterator[str | None]:
        """What is wrong with the options as they were given."""
        yield from wait_findings(self.wait_policy)
        yield arguments.one_of("rerun", self.rerun, [one.value for one in Policy])
        yield arguments.whole_number("rerun_limit", self.rerun_limit)
        yield arguments.flag("protect_running", self.protect_running)
        yield arguments.one_of("on_delete", self.on_delete, [one.value for one in OnDelete])
        if self.taking_over is not None and self.adopt is None:
            yield "taking_over says whose job is adopted, and adopt is not given; give both"

    def declaration(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The spec's fields and the options that belong to the declaration, without those that are not
        given.
        """
        declared = {
            **spec,
            "framework": self.framework,
            "allow_unknown_types": self.allow_unknown_types or None,
            "allow_legacy_types": self.allow_legacy_types or None,
            "staging_bucket": None if self.staging_bucket is None else bucket_name(self.staging_bucket),
            **place(self.project, self.location),
            "staging_bucket_location": bucket_location(self.staging_bucket),
        }
        return {name: value for name, value in declared.items() if value is not None}

    @property
    def of_run(self) -> dict[str, Any]:
        """The policies that the record of runs has."""
        return {
            "rerun": self.rerun,
            "protect_running": self.protect_running,
            "rerun_limit": self.rerun_limit,
            "on_delete": self.on_delete,
            "adopt": self.adopt,
        }

    @property
    def of_job(self) -> dict[str, Any]:
        """The policies that the job's resource has."""
        return {
            "rerun": self.rerun,
            "protect_running": self.protect_running,
            "on_delete": self.on_delete,
            "adopt": self.adopt,
            "taking_over": self.taking_over,
        }
