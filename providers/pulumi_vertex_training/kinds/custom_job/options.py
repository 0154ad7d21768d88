"""The arguments of `CustomJob` that a component hands on to its job, for editors and type checkers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pulumi

from pulumi_vertex_training.kinds.persistent_resource.resource import PersistentResource
from pulumi_vertex_training.program.job_args import EncryptionSpecArgs, JobSpecOptions
from pulumi_vertex_training.program.references import BucketLike
from pulumi_vertex_training.program.run_options import OnInterrupt, Wait


class JobOptions(JobSpecOptions, total=False):
    """`CustomJob` says what each means; a test holds the two together."""

    display_name: pulumi.Input[str] | None
    staging_bucket: BucketLike | None
    persistent_resource: PersistentResource | None
    encryption_spec: pulumi.Input[EncryptionSpecArgs | Mapping[str, Any]] | None
    labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None
    framework: str | None
    allow_unknown_types: bool
    allow_legacy_types: bool
    run_token: pulumi.Input[str] | None
    rerun: Literal["on_change", "on_failure", "always", "never"]
    rerun_limit: int
    protect_running: bool
    on_delete: Literal["delete", "cancel"]
    adopt: pulumi.Input[str] | None
    taking_over: pulumi.Input[str] | None
    wait: Wait
    wait_timeout: float
    on_interrupt: OnInterrupt
    stream_logs: bool
