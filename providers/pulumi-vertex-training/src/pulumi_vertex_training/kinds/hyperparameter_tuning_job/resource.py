"""`HyperparameterTuningJob`: trials of one program with different arguments on Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, cast, overload

import pulumi

from pulumi_vertex_training import registry
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.args import (
    StudySpecArgs,
    TrialJobSpecArgs,
)
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.parameters import with_names
from pulumi_vertex_training.kinds.persistent_resource.resource import (
    PersistentResource,
    part_with_persistent_resource,
)
from pulumi_vertex_training.program.arguments.job_args import EncryptionSpecArgs
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments
from pulumi_vertex_training.program.arguments.references import BucketLike
from pulumi_vertex_training.program.arguments.run_options import (
    DEFAULT_WAIT_TIMEOUT,
    NotificationsLike,
    OnInterrupt,
    RunOptions,
    Wait,
)
from pulumi_vertex_training.program.job_resource import JobResource
from pulumi_vertex_training.program.results import Completion, Metrics, OptionalText, Text
from pulumi_vertex_training.runs.policies.deletion_policy import DEFAULT_KEEP_RUNS
from pulumi_vertex_training.runs.policies.rerun import DEFAULT_LIMIT


class TrialResult(TypedDict):
    """A trial in `HyperparameterTuningJob.trials`."""

    id: str
    """Number of the trial."""
    state: str
    """State, such as SUCCEEDED."""
    parameters: dict[str, Any]
    """Values of the parameters."""
    metrics: dict[str, float]
    """Values of the metrics that the trial reported last."""
    step_count: int | None
    """Steps that it reported, None without a report."""
    start_time: str | None
    """Time when the trial started (RFC 3339), None before that."""
    end_time: str | None
    """Time when it ended (RFC 3339), None before that."""
    infeasible_reason: str | None
    """Reason of a trial that is infeasible, None for any other."""
    custom_job: str | None
    """Full name of the trial's job, None without one."""
    model_directory: str | None
    """gs:// directory of its model, None without one."""


class BestTrial(TypedDict):
    """The best trial of a study. Each value is None until there is one."""

    id: str | None
    """Number of the trial."""
    parameters: dict[str, Any] | None
    """Values of the parameters."""
    metric_id: str | None
    """Metric that is optimized."""
    metric: float | None
    """Its value."""
    model_directory: str | None
    """gs:// directory of the model."""


class TuningCompletion(Completion):
    """Result of a tuning job, as an output of a dictionary."""

    KEYS = (*Completion.KEYS, "trials", "best_trial")

    @property
    def trials(self) -> pulumi.Output[list[TrialResult]]:
        """The trials so far."""
        return self["trials"]

    @property
    def best_trial(self) -> pulumi.Output[BestTrial | None]:
        """The best trial so far, None until there is one."""
        return self["best_trial"]

    @overload
    def __getitem__(self, key: Text) -> pulumi.Output[str]: ...
    @overload
    def __getitem__(self, key: OptionalText) -> pulumi.Output[str | None]: ...
    @overload
    def __getitem__(self, key: Literal["metrics"]) -> Metrics: ...
    @overload
    def __getitem__(self, key: Literal["trials"]) -> pulumi.Output[list[TrialResult]]: ...
    @overload
    def __getitem__(self, key: Literal["best_trial"]) -> pulumi.Output[BestTrial | None]: ...
    def __getitem__(self, key: str) -> pulumi.Output[Any]:
        return self._lifted(key)


class HyperparameterTuningJob(JobResource, module="hyperparameterTuningJob", name="HyperparameterTuningJob"):
    """A tuning job that runs once for its declaration, and again when the declaration changes.

    What a change does is as for a `CustomJob`.
    """

    kind = registry.TUNING_JOB
    completion_class = TuningCompletion

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        study_spec: pulumi.Input[StudySpecArgs | Mapping[str, Any]],
        max_trial_count: pulumi.Input[int],
        parallel_trial_count: pulumi.Input[int],
        trial_job_spec: pulumi.Input[TrialJobSpecArgs | Mapping[str, Any]],
        max_failed_trial_count: pulumi.Input[int | None] = None,
        persistent_resource: PersistentResource | None = None,
        display_name: pulumi.Input[str] | None = None,
        encryption_spec: pulumi.Input[EncryptionSpecArgs | Mapping[str, Any] | None] = None,
        labels: pulumi.Input[Mapping[str, pulumi.Input[str]] | None] = None,
        staging_bucket: BucketLike | None = None,
        framework: str | None = None,
        allow_unknown_types: bool = False,
        allow_legacy_types: bool = False,
        run_token: pulumi.Input[str] | None = None,
        rerun: Literal["on_change", "on_failure", "always", "never"] = "on_change",
        rerun_limit: int = DEFAULT_LIMIT,
        protect_running: bool = False,
        on_delete: Literal["delete", "cancel"] | None = None,
        adopt: pulumi.Input[str] | None = None,
        taking_over: pulumi.Input[str] | None = None,
        wait: Wait = "running",
        wait_timeout: float = DEFAULT_WAIT_TIMEOUT,
        on_interrupt: OnInterrupt = "leave",
        stream_logs: bool = False,
        on_replace: Literal["keep", "delete"] = "keep",
        keep_runs: int = DEFAULT_KEEP_RUNS,
        notifications: NotificationsLike | None = None,
        max_cost: float | None = None,
        stall_timeout: float | None = None,
        resume: pulumi.Input[str] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a tuning job; docs/guides/jobs/tuning.md has a complete example.

        Trial 3 writes its model to `3/model/` in the output directory of the run.

        :param resource_name: Name of the resource in the program.
        :param study_spec: Metrics, parameters, and the search for their values.
        :param max_trial_count: Number of trials in all.
        :param parallel_trial_count: Number of trials at the same time.
        :param trial_job_spec: Job of each trial. Each parameter is an argument of its tasks, after their own
            arguments.
        :param max_failed_trial_count: Number of trials that may fail before the job does. Default: the
            service decides.
        :param persistent_resource: Resource on whose machines the trials run, as `persistent_resource_id` in
            `trial_job_spec`. The trials wait for it, and the preview checks them against its pools.
        :param display_name: Name for people, up to 128 characters. Default: the resource's name. `{run}` in
            it becomes the number of the run. A change applies to the next run.
        :param encryption_spec: Customer-managed key that encrypts the resources of the tuning job and its
            trials.
        :param labels: Labels of the tuning job. A change applies to the next run.
        :param staging_bucket: Bucket in which each run gets an output directory of its own, unless there is a
            `base_output_directory`.
        :param framework: Framework or strategy of the program, such as `pytorch`, `jax` or
            `MultiWorkerMirroredStrategy`. The pools are checked against its requirements, and get the image,
            launcher and variables that it needs where you give none (docs/guides/frameworks/choose.md).
        :param allow_unknown_types: Only warn about machine and accelerator types that this version does not
            know, such as Google's newest.
        :param allow_legacy_types: Accept types that Google has retired, such as NVIDIA_TESLA_K80.
        :param run_token: Any string. A different one reruns an unchanged job.
        :param rerun: When the job runs again (docs/guides/programs/rerun.md).
        :param rerun_limit: How often in a row `on_failure` reruns the job.
        :param protect_running: Refuse to replace or destroy the job while it is live.
        :param on_delete: Effect of destroying the job on the records of its runs and on their models
            (docs/guides/programs/protect-and-delete.md#delete-a-job).
        :param adopt: Id or full name of an existing job to manage instead of a new one
            (docs/guides/running/adopt.md).
        :param taking_over: Run of a declaration that is given up for good, whose job is adopted.
        :param wait: Event that a deployment waits for. With `done`, a failed job fails each deployment until
            it has succeeded (docs/guides/programs/failed-jobs.md).
        :param wait_timeout: Longest wait in seconds. After it the deployment continues with a warning.
        :param on_interrupt: Effect of Ctrl-C on a job that the deployment waits for
            (docs/guides/programs/waiting.md).
        :param stream_logs: Show the log of all replicas while the deployment waits.
        :param on_replace: Effect on the record and the logs of a job that a new run replaces.
        :param keep_runs: How many earlier runs are kept. A new run deletes the records of older ones that
            have ended.
        :param notifications: Notifications of the ends of runs (docs/guides/programs/notifications.md).
        :param max_cost: The most that all runs of this resource may cost together, in US dollars
            (docs/guides/cost/limit.md).
        :param stall_timeout: Seconds without a further `vertex_cluster.report` after which a replica ends the
            job (docs/guides/frameworks/hangs.md).
        :param resume: Runs that continue from checkpoints: `after_interruption`, the default with a
            `staging_bucket`; `never`; or all, in a gs:// folder that you give. Not for tuning jobs
            (docs/guides/frameworks/checkpoints.md).
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        trial, machines = part_with_persistent_resource(
            resource_name, trial_job_spec, persistent_resource, at="trial_job_spec"
        )
        super().__init__(
            resource_name,
            spec={
                "display_name": display_name,
                "study_spec": study_spec,
                "max_trial_count": max_trial_count,
                "parallel_trial_count": parallel_trial_count,
                "max_failed_trial_count": max_failed_trial_count,
                "trial_job_spec": with_names(trial),
                **machines,
                "encryption_spec": encryption_spec,
                "labels": labels,
            },
            options=RunOptions(
                staging_bucket=staging_bucket,
                framework=framework,
                allow_unknown_types=allow_unknown_types,
                allow_legacy_types=allow_legacy_types,
                run_token=run_token,
                rerun=rerun,
                rerun_limit=rerun_limit,
                protect_running=protect_running,
                on_delete=on_delete,
                adopt=adopt,
                taking_over=taking_over,
                wait=wait,
                wait_timeout=wait_timeout,
                on_interrupt=on_interrupt,
                stream_logs=stream_logs,
                on_replace=on_replace,
                keep_runs=keep_runs,
                notifications=notifications,
                max_cost=max_cost,
                stall_timeout=stall_timeout,
                resume=resume,
                project=project,
                location=location,
                opts=opts,
            ),
        )

    @property
    def completion(self) -> TuningCompletion:
        """Result of the study, or its present state if `wait` is not `done`.

        The model directory is that of the best trial.
        """
        return cast(TuningCompletion, super().completion)

    @property
    def trials(self) -> pulumi.Output[list[TrialResult]]:
        """The trials so far, each a `TrialResult`."""
        return self.completion.trials

    @property
    def best_trial(self) -> pulumi.Output[BestTrial]:
        """The best trial so far, a `BestTrial`."""
        return self.completion.best_trial.apply(lambda found: found or _NO_TRIAL)

    @property
    def best_parameters(self) -> pulumi.Output[dict[str, Any] | None]:
        """The values of the best trial by parameter id; None until there is one."""
        return self.best_trial.apply(lambda found: found["parameters"])

    @property
    def best_metric(self) -> pulumi.Output[float | None]:
        """The metric of the best trial; None until there is one."""
        return self.best_trial.apply(lambda found: found["metric"])


_NO_TRIAL: BestTrial = {
    "id": None,
    "parameters": None,
    "metric_id": None,
    "metric": None,
    "model_directory": None,
}
