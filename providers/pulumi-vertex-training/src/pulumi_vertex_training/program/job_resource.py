"""Base class of the resources of all kinds of job, with their options, run and wait."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pulumi

from pulumi_vertex_training import registry
from pulumi_vertex_training.core.running.output import wait_words
from pulumi_vertex_training.core.state.hidden_input import (
    CLIMB_INPUT,
    HIDDEN_INPUT,
    INTERRUPT_INPUT,
    KEY_INPUT,
    LOOKUPS,
    RESULTS,
)
from pulumi_vertex_training.program import links, messages
from pulumi_vertex_training.program.arguments import checks as arguments
from pulumi_vertex_training.program.arguments.named_arguments import unknown_arguments
from pulumi_vertex_training.program.arguments.run_options import RunOptions, WaitPolicy
from pulumi_vertex_training.program.form import Resource, recorded_output
from pulumi_vertex_training.program.notifications import declared as notifications
from pulumi_vertex_training.program.notifications.declared import DeclaredNotifications
from pulumi_vertex_training.program.preview import cost_limits
from pulumi_vertex_training.program.preview import prerequisites as lookups
from pulumi_vertex_training.program.resource import (
    as_secret_as,
    is_constructed,
    ownership,
    stack_settings,
    start_emulator,
    with_outputs,
)
from pulumi_vertex_training.program.results import Completion, RunMetrics
from pulumi_vertex_training.program.stack_key import key_input
from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.program.waiting.waits import Again, Wait, WaitResult, declared, deploys
from vertex_emulator import LauncherError
from vertex_training.fields.resource_names import part_after, resource_id
from vertex_training.fields.uris import DIRECTORY

if TYPE_CHECKING:
    from pulumi_vertex_training.core.running.declaration import JobResourceType

OUTPUTS = ("name", "job_id", "state", "create_time", "start_time", "end_time", "error", "asked_by")


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobRequest:
    """The request of a declared job: enough to submit it again.

    `resource` is its name in the program, `declaration` has the fields of the spec and of the target, and may
    have outputs in it.
    """

    resource: str
    collection: str
    declaration: Mapping[str, Any]

    @property
    def endpoint(self) -> str:
        return str(self.declaration["endpoint"])

    @property
    def project(self) -> pulumi.Input[str]:
        project: pulumi.Input[str] = self.declaration["project"]
        return project

    @property
    def location(self) -> pulumi.Input[str]:
        location: pulumi.Input[str] = self.declaration["location"]
        return location

    @property
    def parent(self) -> pulumi.Output[str]:
        """The parent of the job in the API."""
        return pulumi.Output.format("projects/{0}/locations/{1}", self.project, self.location)


class JobResource(Resource, module="vertex-training", name="JobResource"):
    """Base of a resource that runs once, and again when its declaration changes.

    A subclass has its own `module` and `name`, the arguments of its kind, and these: `kind`, the entry of
    its kind; `own_outputs`, outputs of only its kind;
    `completion_class`, the class of its completion.
    """

    kind: ClassVar[registry.Entry]
    own_outputs: ClassVar[Sequence[str]] = ()
    completion_class: ClassVar[type[Completion]] = Completion

    name: pulumi.Output[str]
    """Full name of the job."""
    job_id: pulumi.Output[str]
    """Id of the job, the last part of its name."""
    create_time: pulumi.Output[str]
    """Time when the job was created (RFC 3339)."""
    asked_by: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    """`emulator` or `google`."""
    project: pulumi.Output[str]
    """Project id."""
    location: pulumi.Output[str]
    """Region."""

    def __init__(
        self,
        resource_name: str,
        *,
        spec: Mapping[str, Any],
        options: RunOptions,
    ) -> None:
        """Declare a job.

        :param spec: the fields of the spec; None means that a field is not given.
        """
        in_plugin = is_constructed()
        waits = options.wait_policy if deploys() else WaitPolicy(until="none")
        declaration = options.declaration(spec)
        sent = notifications.read(options.notifications, on_google=stack_settings().endpoint == "google")
        findings = [
            finding
            for finding in (*self._misplaced(), *options.findings(), *sent.findings, self._unsent(sent))
            if finding
        ]
        if findings:
            # The provider will not see this declaration, so report its findings with these.
            findings += arguments.problems_in(
                {"display_name": resource_name, **declaration}, _declared(self.kind).decode_inputs
            )
        arguments.require(resource_name, findings)
        start_emulator()
        key = key_input(self, self.kind.resources[0], resource_name, options.opts)
        props = with_outputs(
            {
                **declaration,
                **options.policies,
                **(options.waits if in_plugin else {}),
                # The provider's check fills the hash in. It is secret if anything in the declaration is.
                HIDDEN_INPUT: {"spec_hash": as_secret_as(declaration)},
                "marks": ownership(resource_name),
                "notifications": notifications.of_emulator(sent),
            },
            *OUTPUTS,
            *("display_name", DIRECTORY),
            *self.own_outputs,
            *(RESULTS if in_plugin else ()),
        )
        props |= key
        if not in_plugin:
            props[LOOKUPS] = lookups.lookups_input(declaration, options.opts)
        if waits.cancels and not pulumi.runtime.is_dry_run():
            props[INTERRUPT_INPUT] = "cancel"
        if declaration.get("capacity") is not None:
            props[CLIMB_INPUT] = waits.timeout if waits.waits else 0.0
        super().__init__(
            self.kind.resources[0],
            resource_name,
            props,
            pulumi.ResourceOptions.merge(options.opts, pulumi.ResourceOptions(delete_before_replace=True)),
        )
        if sent.items and stack_settings().endpoint == "google":
            from pulumi_vertex_training.program.notifications import google  # imported only if needed

            google.declare(
                self, resource_name, sent.items, job_id=self.job_id, project=declaration["project"]
            )
        if options.adopt is None:
            lookups.look_up_job(
                self, self.kind.collection, resource_name, declaration, options.opts, stays=self._stays
            )
        self.request = JobRequest(
            resource=resource_name, collection=self.kind.collection, declaration=declaration
        )
        counted = declaration if options.max_cost is None else {**declaration, "max_cost": options.max_cost}
        cost_limits.count_job(self, self.kind.collection, resource_name, counted)
        self._wait = waits
        self._label = resource_name
        self._completion: Completion | None = None
        self._result_is_used = False
        self._held: pulumi.Output[str | None] | None = None
        self._secret_outputs = frozenset((options.opts and options.opts.additional_secret_outputs) or ())
        self._again = Again(rerun=options.rerun, limit=options.rerun_limit)
        self._in_program: Wait | None = None
        if waits.waits and not pulumi.runtime.is_dry_run():
            interruption.listen()
            self._in_program = declared(resource_name)
            if waits.cancels:
                at = {name: declaration[name] for name in ("endpoint", "project", "location")}
                self._held = pulumi.Output.all(
                    key=key.get(KEY_INPUT),
                    collection=self.kind.collection,
                    capacity=declaration.get("capacity") or [],
                    **at,
                ).apply(_hold)
            _ = self._result
        elif not pulumi.runtime.is_dry_run():
            _shown: pulumi.Output[None] = self.asked_by.apply(self._submitted)

    def _stays(self) -> Awaitable[None] | None:
        """Say in a preview what a deployment will do about a job that does not run again."""
        if self._wait.until != "done":
            return None
        from pulumi_vertex_training.program.waiting.failures import warn_in_preview  # imported only if needed

        return warn_in_preview(self, self._label)

    async def _submitted(self, asked_by: str | None) -> None:
        """Show how to follow a job that this deployment has submitted and does not wait for."""
        from pulumi_vertex_training.dynamic.process import engine_address  # imported only if needed

        if asked_by is not None and asked_by == engine_address():
            noun, name = _declared(self.kind).noun, str(await self.id.future())
            follow = wait_words.follow(links.job_command("logs", name))
            messages.info(f"{noun} {resource_id(name)} is submitted. {follow}", self)

    def _unsent(self, sent: DeclaredNotifications) -> str | None:
        """Return a finding about a kind of job whose end Google Cloud does not report."""
        if not sent.items or self.kind is not registry.PIPELINE or stack_settings().endpoint != "google":
            return None
        return (
            "notifications are not possible for a training pipeline on Google Cloud: no log entry of its end "
            "names the pipeline. Leave them out there (`if not vt.on_google()`), or declare a CustomJob"
        )

    def _misplaced(self) -> list[str]:
        """Return a finding for each argument that the constructor does not have."""
        given = unknown_arguments(self)
        if not given:
            return []
        from vertex_training.job.job_spec import JobSpec  # imported only if needed

        refused = _declared(self.kind).refused
        reasons = [f"{name} {refused[name]}" for name in given if name in refused]
        return reasons + arguments.unknown(
            [name for name in given if name not in refused],
            _keywords_of(type(self)),
            inner=[item.name for item in dataclasses.fields(JobSpec)],
            parents=[path for path in _declared(self.kind).spec.at if path],
        )

    @property
    def base_output_directory(self) -> pulumi.Output[str]:
        """The gs:// directory that the run writes to."""
        return cast("pulumi.Output[str]", recorded_output(self, DIRECTORY))

    @property
    def completion(self) -> Completion:
        """Result of the run, or its present state if `wait` is not `done`: a `Completion`.

        In a preview it is known if the job has ended. See docs/guides/programs/waiting.md#use-the-result.
        """
        if self._in_program is not None and self._in_program.result is WaitResult.EARLIER:
            # Too late to fail the wait, which is over.
            raise pulumi.RunError(f"{self._label}: its job is {self._in_program.state}, so it has no result")
        self._result_is_used = True
        return self._result

    @property
    def _result(self) -> Completion:
        if self._completion is None:
            facts: dict[str, Any] = {
                "name": self.id,
                "endpoint": self.endpoint,
                "project": self.project,
                "location": self.location,
            }
            if not pulumi.runtime.is_dry_run():
                facts |= {
                    "asked_by": self.asked_by,
                    "held_key": self._held,
                    "base_output_directory": self.base_output_directory,
                }
            found: pulumi.Output[Any] = pulumi.Output.all(**facts).apply(self._complete)
            self._completion = self.completion_class(found, label=self._label)
        return self._completion

    @property
    def state(self) -> pulumi.Output[str]:
        """`completion.state`."""
        return self.completion.state

    @property
    def error(self) -> pulumi.Output[str | None]:
        """`completion.error`."""
        return self.completion.error

    @property
    def start_time(self) -> pulumi.Output[str | None]:
        """`completion.start_time`."""
        return self.completion.start_time

    @property
    def end_time(self) -> pulumi.Output[str | None]:
        """`completion.end_time`."""
        return self.completion.end_time

    @property
    def logs_command(self) -> pulumi.Output[str]:
        """Command that prints the logs of all replicas."""
        return self.id.apply(links.logs_command)

    @property
    def console_url(self) -> pulumi.Output[str]:
        """Address of the job's page in the Google Cloud console.

        On the emulator, the command that opens the dashboard: `vertex-training ui --open`.
        """
        return self._link(links.console_url)

    def _link(self, of: Callable[[str, str], str]) -> pulumi.Output[str]:
        """Return a link made of the endpoint and the job's full name."""
        return pulumi.Output.all(self.endpoint, self.id).apply(lambda known: of(*known))

    async def _complete(self, facts: dict[str, Any]) -> Any:
        # imported only if needed
        from pulumi_vertex_training.core import connection
        from pulumi_vertex_training.program.waiting.completion import completion, ended_outcome
        from pulumi_vertex_training.program.waiting.job_wait import JobWait

        # A job with a capacity ladder can be in another location than declared.
        location = part_after(facts["name"], "locations") or facts["location"]
        where = (facts["endpoint"], facts["project"], location, stack_settings())
        if pulumi.runtime.is_dry_run():
            ended = await asyncio.to_thread(
                ended_outcome,
                functools.partial(connection.connect_if_running, *where),
                facts["name"],
            )
            return pulumi.UNKNOWN if ended is None else self._with_named_metrics(ended)
        found = await completion(
            JobWait(
                resource=self,
                connect=functools.partial(connection.connect, *where),
                name=facts["name"],
                policy=self._wait,
                wait=self._in_program or Wait(name=self._label),
                asked_by=facts["asked_by"],
                base_output_directory=facts["base_output_directory"],
                held_key=facts["held_key"],
                again=self._again,
                secret_outputs=self._secret_outputs,
                is_used=lambda: self._result_is_used,
            )
        )
        return self._with_named_metrics(found)

    def _with_named_metrics(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return an outcome whose metrics name this resource if a program asks for a missing one."""
        metrics = found["metrics"]
        if not isinstance(metrics, dict):
            return found
        return {**found, "metrics": RunMetrics(metrics, resource=self, label=self._label)}


async def _hold(facts: Mapping[str, Any]) -> str | None:
    """Hold the job that is about to be created, so that it is cancelled on Ctrl-C. Return the key."""
    from pulumi_vertex_training.core import connection  # imported only if needed

    try:
        endpoint = await asyncio.to_thread(
            connection.connect, facts["endpoint"], facts["project"], facts["location"], stack_settings()
        )
    except LauncherError:
        return None  # the creation of the job reports it
    key: str | None = facts["key"]
    if key:
        places = [one.get("location") for one in facts["capacity"]]
        interruption.hold_resource(key, endpoint, facts["collection"], list(filter(None, places)))
    return key


def _declared(kind: registry.Entry) -> JobResourceType:
    """Return the resource type of a kind, whose rules a program needs only to report mistakes."""
    from pulumi_vertex_training.core.running.declaration import declared_in

    return declared_in(kind.collection)


def _keywords_of(resource: type) -> list[str]:
    """Return the names of the arguments of a resource class."""
    return [
        name
        for name, parameter in inspect.signature(resource.__init__).parameters.items()  # type: ignore[misc]
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
