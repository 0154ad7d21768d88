"""`TrainingPipeline`: training with data from a managed dataset, and the upload of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast, overload

import pulumi

from pulumi_vertex_training import registry
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.parameters import with_names
from pulumi_vertex_training.kinds.model.args import InputDataConfigArgs, ModelArgs
from pulumi_vertex_training.kinds.model.resource import Model, parent_name, with_serving_image
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
from pulumi_vertex_training.program.arguments.worker_pools import field_of, has_fields, with_fields
from pulumi_vertex_training.program.job_resource import JobResource
from pulumi_vertex_training.program.results import Completion, Metrics, OptionalText, Text
from pulumi_vertex_training.runs.policies.deletion_policy import DEFAULT_KEEP_RUNS
from pulumi_vertex_training.runs.policies.rerun import DEFAULT_LIMIT
from vertex_training.fields.schema import camel_case

_TRIAL = "trial_job_spec"


class PipelineCompletion(Completion):
    """Result of a pipeline, as an output of a dictionary."""

    KEYS = (*Completion.KEYS, "model", "model_version")

    @property
    def model(self) -> pulumi.Output[str | None]:
        """Full name of the uploaded model, None until there is one."""
        return self["model"]

    @property
    def model_version(self) -> pulumi.Output[str | None]:
        """Version of the uploaded model, None until there is one."""
        return self["model_version"]

    @overload
    def __getitem__(self, key: Text) -> pulumi.Output[str]: ...
    @overload
    def __getitem__(
        self, key: OptionalText | Literal["model", "model_version"]
    ) -> pulumi.Output[str | None]: ...
    @overload
    def __getitem__(self, key: Literal["metrics"]) -> Metrics: ...
    def __getitem__(self, key: str) -> pulumi.Output[Any]:
        return self._lifted(key)


class TrainingPipeline(JobResource, module="trainingPipeline", name="TrainingPipeline"):
    """A pipeline that exports a dataset, runs a task, and uploads the resulting model.

    What a change does is as for a `CustomJob`.
    """

    kind = registry.PIPELINE
    completion_class = PipelineCompletion
    own_outputs = ("model", "model_version")

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        custom_task: pulumi.Input[Mapping[str, Any] | None] = None,
        tuning_task: pulumi.Input[Mapping[str, Any] | None] = None,
        input_data_config: pulumi.Input[InputDataConfigArgs | Mapping[str, Any] | None] = None,
        model_to_upload: pulumi.Input[ModelArgs | Mapping[str, Any] | None] = None,
        model_id: pulumi.Input[str | None] = None,
        parent_model: Model | pulumi.Input[str] | None = None,
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
        """Declare a pipeline.

        :param resource_name: Name of the resource in the program.
        :param custom_task: Job to run: the fields of the API's CustomJobSpec, such as `worker_pool_specs`.
            `task_from_script`, `task_from_package` and `task_from_image` return one.
        :param tuning_task: Tuning to run: `study_spec`, `max_trial_count`, `parallel_trial_count`,
            `trial_job_spec`. Give exactly one of the two tasks.
        :param input_data_config: Dataset, its split and its destination.
        :param model_to_upload: Model to upload when the task has succeeded, with its serving container.
        :param model_id: Id of the model. An existing model of this id gets a new version.
        :param parent_model: Model that gets a new version: a `Model`, or its id or full name.
        :param persistent_resource: Resource on whose machines the pipeline trains, as
            `persistent_resource_id` in the task or its `trial_job_spec`. The preview checks the task against
            its pools.
        :param display_name: Name for people, up to 128 characters. Default: the resource's name. `{run}` in
            it becomes the number of the run. A change applies to the next run.
        :param encryption_spec: Customer-managed key that encrypts the pipeline's resources.
        :param labels: Labels of the pipeline. A change applies to the next run.
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
        custom_task, machines = part_with_persistent_resource(
            resource_name, custom_task, persistent_resource, at="custom_task"
        )
        tuning_task, machines_of_trials = _trials_on_resource(resource_name, tuning_task, persistent_resource)
        super().__init__(
            resource_name,
            spec={
                "display_name": display_name,
                "custom_task": _with_names(custom_task),
                "tuning_task": _with_names(tuning_task),
                "input_data_config": input_data_config,
                "model_to_upload": with_serving_image(model_to_upload),
                "model_id": model_id,
                "parent_model": parent_name(resource_name, parent_model),
                "encryption_spec": encryption_spec,
                "labels": labels,
                **machines,
                **machines_of_trials,
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
    def completion(self) -> PipelineCompletion:
        """Result of the run, or its present state if `wait` is not `done`."""
        return cast(PipelineCompletion, super().completion)

    @property
    def model(self) -> pulumi.Output[str | None]:
        """The full name of the uploaded model; None until there is one."""
        return self.completion.model

    @property
    def model_version(self) -> pulumi.Output[str | None]:
        """The version of the uploaded model; None until there is one."""
        return self.completion.model_version


def _trials_on_resource(
    name: str, task: object, resource: PersistentResource | None
) -> tuple[Any, Mapping[str, Any]]:
    """Put the trials of a tuning task on the resource. Return the task and the inputs for the check."""
    if task is None or (resource is None and isinstance(task, pulumi.Output)):
        return task, {}
    at = "tuning_task.trial_job_spec"
    if isinstance(task, pulumi.Output):
        job, machines = part_with_persistent_resource(name, task.apply(_trial), resource, at=at)
        return pulumi.Output.all(task, job).apply(
            lambda both: with_fields(both[0], {_TRIAL: both[1]}) if has_fields(both[0]) else both[0]
        ), machines
    job, machines = part_with_persistent_resource(name, _trial(task), resource, at=at)
    return (with_fields(task, {_TRIAL: job}) if machines else task), machines


def _trial(task: object) -> Any:
    return field_of(task, _TRIAL)


def _with_names(task: object) -> Any:
    """Replace images and service accounts that are resources by their names in a task."""
    if not isinstance(task, Mapping):
        return task
    trials = (_TRIAL, camel_case(_TRIAL))
    return {key: with_names(value) if key in trials else value for key, value in with_names(task).items()}
