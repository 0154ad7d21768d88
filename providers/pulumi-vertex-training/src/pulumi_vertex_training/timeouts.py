"""The timeouts of the client's processes: how long one waits for another party before it gives up.

The command, the program and the provider process each make one of these objects where they start, scaled by
VERTEX_TRAINING_TIMEOUT_SCALE. It reaches the rest in the command's options, in the stack's settings, and in
each `Endpoint`, whose timeouts are the emulator's if its scale is higher.

Not here, and never scaled, are polling intervals and pauses between two progress lines, times that a service
or Pulumi fixes, and times that a user declares (`wait_timeout`, `custom_timeouts`, --timeout).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulumi_vertex_training.configuration_keys import LOOKUP_SECONDS, PREFLIGHT_SECONDS
from vertex_emulator import ClientTimeouts
from vertex_training.timeouts import VARIABLE, scaled, timeout_scale


@dataclass(frozen=True, kw_only=True)
class Timeouts(ClientTimeouts):
    """The timeouts of a process of the client, in seconds, besides those for starting an emulator."""

    # The engine.
    engine: float = 2.0
    """For the engine to accept a connection. Then it counts as ended."""
    engine_log: float = 5.0
    """For the engine to take a line. Then the line is printed without its resource."""

    # A service: calls, and what it does after one.
    call: float = 30.0
    """For data of an answer. Then the call has failed, and may be tried again."""
    content: float = 300.0
    """The same while the content of an object or of an image is transferred."""
    retry_emulator: float = 10.0
    """For one of several attempts to succeed, on the emulator. Then the last error is reported."""
    retry_google: float = 60.0
    """The same on Google Cloud."""
    outage: float = 30.0
    """For a service to answer again while a log is followed. Then following it ends."""
    least_answer: float = 5.0
    """For an answer that is awaited at the end of `wait_timeout`. Then the last state is reported."""
    record_deletion: float = 60.0
    """For the record of a job to be deleted. Then the deletion fails."""
    model_operation: float = 600.0
    """For the upload or the deletion of a model to end. Then it is reported as not ended."""
    repository_operation: float = 300.0
    """The same for an operation on an image repository."""
    resource_deletion: float = 60.0
    """For the deletion of a persistent resource. Then the deployment continues without waiting."""
    previous_deletion: float = 300.0
    """For a persistent resource with the same id to be gone. Then nothing is created."""
    resource_busy: float = 300.0
    """For another operation on a persistent resource to end. Then nothing is changed."""
    build_answer: float = 60.0
    """For the end of a build on Cloud Build after the time limit that Cloud Build has for it."""

    # Jobs.
    job_end: float = 300.0
    """For a cancelled job to end. Then its deletion fails, and the next one continues."""
    last_cancel: float = 60.0
    """For a job to be cancelled after its deployment has ended. Then it is reported as running."""
    last_submission: float = 15.0
    """For a job that was being submitted then to appear. Then there is nothing to cancel."""
    git: float = 5.0
    """For git to name the commit of the program. Then the lineage of a run has none."""
    diagnosis: float = 20.0
    """For the log of a failed job. Then the failure is reported without it."""
    drain_emulator: float = 5.0
    """For the last lines of an ended job on the emulator. Then its log may be incomplete."""
    drain_google: float = 30.0
    """The same on Google Cloud."""
    drain_answer: float = 15.0
    """For the answer to the last read of the log, besides. Then the log is incomplete."""

    # Previews.
    lookups: float = LOOKUP_SECONDS
    """For the lookups of one resource. Then a preview does without. A stack can set another one."""
    preflight: float = PREFLIGHT_SECONDS
    """For all lookups of a preflight. Then it reports what is not known. A stack can set another one."""
    remote_query: float = 15.0
    """For a query of a plan. Then its target is not queried again in this operation."""

    # Other programs.
    pulumi_version: float = 20.0
    """For `pulumi version`. Then the version is not known."""
    pulumi: float = 300.0
    """For a short command of Pulumi, which reads or writes a state. Then the command fails."""
    process_list: float = 10.0
    """For `ps` to describe a process. Then the Pulumi CLI that started this one is not known."""
    pulumi_preview: float = 1800.0
    """For a preview or a refresh. Then the command fails."""
    pip: float = 1800.0
    """For pip to fetch the packages of an image. Then the build fails."""
    python_version: float = 10.0
    """For another Python to report its version. Then it is not used."""
    image_removal: float = 120.0
    """For a container tool to remove an image that it has exported. Then the image stays."""
    tensorboard_end: float = 5.0
    """For TensorBoard to end after SIGTERM. Then it is killed."""
    dashboard_first_byte: float = 5.0
    """For the first byte of a browser that connects to the dashboard. Then its connection is closed."""
    dashboard_request: float = 20.0
    """For the rest of its request. Then its connection is closed."""
    dashboard_end: float = 3.0
    """For the requests of the dashboard to end after Ctrl-C. Then they are cut off."""


ORDINARY = Timeouts()
"""The timeouts of an ordinary machine."""


def timeouts_of(environment: Mapping[str, str]) -> Timeouts:
    """Return the timeouts of a process with these environment variables.

    Raises ValueError with a sentence for the user if the scale is not valid.
    """
    return scaled(ORDINARY, timeout_scale(environment.get(VARIABLE)))
