"""`TrainingSchedule`: a cron expression that runs a declared job again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pulumi

from pulumi_vertex_training.kinds.training_schedule import gateway
from pulumi_vertex_training.kinds.training_schedule.args import RetryConfigArgs
from pulumi_vertex_training.program.arguments import checks
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.arguments.references import ServiceAccountLike, service_account_email
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.job_resource import JobResource
from pulumi_vertex_training.program.preview import cost_limits
from pulumi_vertex_training.program.preview.conflicts import conflict_inputs
from pulumi_vertex_training.program.resource import ownership, start_emulator, with_outputs
from pulumi_vertex_training.program.stack_key import key_input

if TYPE_CHECKING:
    from pulumi_vertex_training.kinds.distributed_training.resource import DistributedTraining


class TrainingSchedule(Resource, module="trainingSchedule", name="TrainingSchedule"):
    """A cron expression that runs a declared job again, with the job's present request.

    When the job changes, its request is updated in place. See docs/guides/programs/schedules.md.
    """

    schedule_id: pulumi.Output[str]
    """Id of the schedule."""
    name: pulumi.Output[str]
    """Full name of the job of Cloud Scheduler."""
    location: pulumi.Output[str]
    """Location of the schedule."""
    project: pulumi.Output[str]
    """Project id."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        job: JobResource | DistributedTraining,
        schedule: pulumi.Input[str],
        time_zone: pulumi.Input[str | None] = None,
        paused: pulumi.Input[bool | None] = None,
        overlap: pulumi.Input[str | None] = None,
        service_account: ServiceAccountLike | None = None,
        description: pulumi.Input[str | None] = None,
        retry_config: pulumi.Input[RetryConfigArgs | Mapping[str, Any] | None] = None,
        attempt_deadline: pulumi.Input[str | None] = None,
        on_delete: pulumi.Input[str | None] = None,
        schedule_id: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a schedule.

        :param resource_name: Name of the resource in the program.
        :param job: Job of this program to run again: a CustomJob, HyperparameterTuningJob, TrainingPipeline
            or DistributedTraining.
        :param schedule: Cron expression with five fields: minute, hour, day of the month, month and day of
            the week. "0 3 * * *" is 03:00 each day.
        :param time_zone: Time zone of the expression, such as Europe/Berlin. Default: Etc/UTC, which has no
            daylight saving time.
        :param paused: Start no runs until this is False again. Runs that have begun go on.
        :param overlap: Policy for a run of this schedule that is live when the next one is due. Only `allow`
            (default): the next one starts beside it, because Cloud Scheduler does not know which runs are
            live.
        :param service_account: Service account that submits the runs, or its e-mail address. Required on
            Google Cloud.
        :param description: Description of the schedule.
        :param retry_config: Attempts after a failed call, such as `{"retry_count": 3}`. Default: none.
        :param attempt_deadline: Longest time for one call, from 15 seconds to 30 minutes. Default: 3 minutes.
        :param on_delete: Effect of destroying the schedule on its runs: `keep` (default) leaves them, and
            live ones go on; `delete` cancels live runs and deletes the records of all.
        :param schedule_id: Id of the job of Cloud Scheduler. Default: see
            docs/guides/programs/previews.md#ids.
        :param location: Location of the schedule. Default: the location of the job.
        :param opts: Pulumi's options of the resource.
        """
        declared = job if isinstance(job, JobResource) else getattr(job, "job", None)
        if not isinstance(declared, JobResource):
            checks.require(resource_name, [_not_a_job(job)])
            return
        start_emulator()
        request = declared.request
        inputs = {
            "schedule": schedule,
            "time_zone": time_zone,
            "paused": paused,
            "overlap": overlap,
            "service_account": service_account_email(service_account),
            "description": description,
            "retry_config": retry_config,
            "attempt_deadline": attempt_deadline,
            "on_delete": on_delete,
            "schedule_id": schedule_id,
            "job": request.resource,
            "collection": request.collection,
            "parent": request.parent,
            # As one output it is secret as a whole if a part is.
            "request": pulumi.Output.from_input({"declaration": request.declaration}),
            "marks": ownership(resource_name),
            **unknown_arguments(self),
            "endpoint": request.endpoint,
            "project": request.project,
            "location": request.location if location is None else location,
        }
        props = {
            **with_outputs(inputs, "schedule_id", "name"),
            **key_input(self, "TrainingSchedule", resource_name, opts),
            **conflict_inputs(resource_name, opts, inputs, "schedule_id", gateway.labels_of),
        }
        super().__init__("TrainingSchedule", resource_name, props, opts)
        if paused is not True:
            cost_limits.count_job(
                self,
                request.collection,
                resource_name,
                request.declaration,
                schedule={"schedule": schedule},
            )


def _not_a_job(given: object) -> str:
    return (
        f"job: {type(given).__name__} is not a job of this program. Give a CustomJob, "
        "HyperparameterTuningJob, TrainingPipeline or DistributedTraining"
    )
