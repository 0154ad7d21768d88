"""Options that all runnable resources share, besides the spec of their kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import pulumi

from pulumi_vertex_training.program.arguments.checks import amount, flag, one_of, seconds, whole_number
from pulumi_vertex_training.program.arguments.notification_args import NotificationArgs
from pulumi_vertex_training.program.arguments.references import BucketLike, bucket_location, bucket_name
from pulumi_vertex_training.program.resource import target_inputs
from pulumi_vertex_training.runs.policies.deletion_policy import DEFAULT_KEEP_RUNS, OnDelete, OnReplace
from pulumi_vertex_training.runs.policies.rerun import DEFAULT_LIMIT, Policy

Wait = Literal["none", "running", "done"]
OnInterrupt = Literal["leave", "cancel"]
NotificationsLike = NotificationArgs | Mapping[str, Any] | Sequence[NotificationArgs | Mapping[str, Any]]

DEFAULT_WAIT_TIMEOUT = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class WaitPolicy:
    """How the program waits for a job. It is not part of the job, its state or its hash.

    `until` is the event to wait for. After `timeout` seconds (`inf` for never) the wait ends with a warning.
    `on_interrupt` is what happens to the job if the deployment is interrupted. `stream_logs` shows the log.
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
        """True if an interrupted wait cancels the job."""
        return self.waits and self.on_interrupt == "cancel"


def wait_findings(policy: WaitPolicy) -> list[str | None]:
    """Return the findings about a policy, None for each argument that is valid."""
    return [
        one_of("wait", policy.until, get_args(Wait)),
        seconds("wait_timeout", policy.timeout),
        one_of("on_interrupt", policy.on_interrupt, get_args(OnInterrupt)),
        flag("stream_logs", policy.stream_logs),
    ]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a runnable resource.

    `make generate` writes them into the signature and the documentation of each resource, for editors, `help`
    and the hint for a misspelt argument.
    """

    staging_bucket: BucketLike | None = None
    """Bucket in which each run gets an output directory of its own, unless there is a
    `base_output_directory`.
    """
    framework: str | None = None
    """Framework or strategy of the program, such as `pytorch`, `jax` or `MultiWorkerMirroredStrategy`. The
    pools are checked against its requirements, and get the image, launcher and variables that it needs where
    you give none (docs/guides/frameworks/choose.md).
    """
    allow_unknown_types: bool = False
    """Only warn about machine and accelerator types that this version does not know, such as Google's newest.
    """
    allow_legacy_types: bool = False
    """Accept types that Google has retired, such as NVIDIA_TESLA_K80."""
    stall_timeout: float | None = None
    """Seconds without a further `vertex_cluster.report` after which a replica ends the job
    (docs/guides/frameworks/hangs.md).
    """
    run_token: pulumi.Input[str] | None = None
    """Any string. A different one reruns an unchanged job."""
    rerun: Literal["on_change", "on_failure", "always", "never"] = "on_change"
    """When the job runs again (docs/guides/programs/rerun.md).
    """
    rerun_limit: int = DEFAULT_LIMIT
    """How often in a row `on_failure` reruns the job."""
    protect_running: bool = False
    """Refuse to replace or destroy the job while it is live."""
    on_delete: Literal["delete", "cancel"] | None = None
    """Effect of destroying the job on the records of its runs and on their models
    (docs/guides/programs/protect-and-delete.md#delete-a-job).
    """
    on_replace: Literal["keep", "delete"] = "keep"
    """Effect on the record and the logs of a job that a new run replaces.
    """
    keep_runs: int = DEFAULT_KEEP_RUNS
    """How many earlier runs are kept. A new run deletes the records of older ones that have ended."""
    max_cost: float | None = None
    """The most that all runs of this resource may cost together, in US dollars (docs/guides/cost/limit.md).
    """
    resume: pulumi.Input[str] | None = None
    """Runs that continue from checkpoints: `after_interruption`, the default with a `staging_bucket`;
    `never`; or all, in a gs:// folder that you give. Not for tuning jobs
    (docs/guides/frameworks/checkpoints.md).
    """
    adopt: pulumi.Input[str] | None = None
    """Id or full name of an existing job to manage instead of a new one (docs/guides/running/adopt.md).
    """
    taking_over: pulumi.Input[str] | None = None
    """Run of a declaration that is given up for good, whose job is adopted."""
    wait: Wait = "running"
    """Event that a deployment waits for. With `done`, a failed job fails each
    deployment until it has succeeded (docs/guides/programs/failed-jobs.md).
    """
    wait_timeout: float = DEFAULT_WAIT_TIMEOUT
    """Longest wait in seconds. After it the deployment continues with a warning."""
    on_interrupt: OnInterrupt = "leave"
    """Effect of Ctrl-C on a job that the deployment waits for (docs/guides/programs/waiting.md).
    """
    stream_logs: bool = False
    """Show the log of all replicas while the deployment waits."""
    notifications: NotificationsLike | None = None
    """Notifications of the ends of runs (docs/guides/programs/notifications.md).
    """
    project: pulumi.Input[str] | None = None
    """Project id. Default: the stack's project."""
    location: pulumi.Input[str] | None = None
    """Region. Default: the stack's location."""
    opts: pulumi.ResourceOptions | None = None
    """Pulumi's options of the resource."""

    @property
    def wait_policy(self) -> WaitPolicy:
        return WaitPolicy(
            until=self.wait,
            timeout=self.wait_timeout,
            on_interrupt=self.on_interrupt,
            stream_logs=self.stream_logs,
        )

    def findings(self) -> Iterator[str | None]:
        """Yield the findings about the options, None for each one that is valid."""
        yield from wait_findings(self.wait_policy)
        yield one_of("rerun", self.rerun, [one.value for one in Policy])
        yield whole_number("rerun_limit", self.rerun_limit)
        yield flag("protect_running", self.protect_running)
        if self.on_delete is not None:
            yield one_of("on_delete", self.on_delete, [one.value for one in OnDelete])
        yield one_of("on_replace", self.on_replace, [one.value for one in OnReplace])
        yield whole_number("keep_runs", self.keep_runs)
        if self.max_cost is not None:
            yield amount("max_cost", self.max_cost)
        if self.taking_over is not None and self.adopt is None:
            yield "taking_over is given without adopt; set adopt to the job of that run"

    def declaration(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the spec and the options of the declaration that are given."""
        declared = {
            **spec,
            "framework": self.framework,
            "stall_timeout": self.stall_timeout,
            "allow_unknown_types": self.allow_unknown_types or None,
            "allow_legacy_types": self.allow_legacy_types or None,
            "staging_bucket": None if self.staging_bucket is None else bucket_name(self.staging_bucket),
            **target_inputs(self.project, self.location),
            "staging_bucket_location": bucket_location(self.staging_bucket),
        }
        return {name: value for name, value in declared.items() if value is not None}

    @property
    def policies(self) -> dict[str, Any]:
        """Options that the resource records beside the declaration, without those that have their defaults.

        The provider's check fills those in: each input that a program sends costs time.
        """
        return self._given(_POLICIES)

    @property
    def waits(self) -> dict[str, Any]:
        """Options of the wait, without those that have their defaults, for the plugin that waits."""
        return self._given(("wait", "wait_timeout", "on_interrupt", "stream_logs"))

    def _given(self, names: Sequence[str]) -> dict[str, Any]:
        given = {item.name: (getattr(self, item.name), item.default) for item in fields(self)}
        return {name: given[name][0] for name in names if given[name][0] != given[name][1]}


_POLICIES = (
    "run_token",
    "rerun",
    "rerun_limit",
    "protect_running",
    "on_delete",
    "on_replace",
    "keep_runs",
    "max_cost",
    "resume",
    "adopt",
    "taking_over",
)
