"""The resource type of a kind of job: the spec and the program's options, decoded, checked and hashed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from pulumi_vertex_training import registry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.autonaming import object_prefix
from pulumi_vertex_training.core.running.package_modules import package_module_problems
from pulumi_vertex_training.core.settings import EndpointKind, Target, project_problems
from pulumi_vertex_training.runs.gateway import RunGateway
from pulumi_vertex_training.runs.policies.deletion_policy import DEFAULT_KEEP_RUNS, OnDelete
from pulumi_vertex_training.runs.policies.rerun import DEFAULT_LIMIT
from vertex_training.fields.decode import Decoded, Unknown
from vertex_training.fields.labels import ownership_label_value
from vertex_training.fields.uris import directory
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.job.checkpoints import (
    AFTER_INTERRUPTION,
    NEVER,
    is_tuning,
    lineage_folder,
    lineage_of,
    resume_problems,
    with_variable,
)
from vertex_training.job.job_kind import JobKind
from vertex_training.job.job_spec import OF_NEXT_RUN
from vertex_training.job.ladder import OnLadder, Rung, key_of
from vertex_training.job.reading import decode_spec, fill_parts
from vertex_training.job.rules.job_spec import staging_bucket_problems
from vertex_training.job.rules.ladder import ladder_problems
from vertex_training.job.stall_timeout import argument_problems
from vertex_training.notifications.notification import Notification, Notifications
from vertex_training.notifications.notification import problems as notification_problems
from vertex_training.topology.rules.regions import bucket_region_problems

RECORD = {
    "rerun": "on_change",
    "rerun_limit": DEFAULT_LIMIT,
    "protect_running": False,
    "on_delete": None,
    "on_replace": "keep",
    "keep_runs": DEFAULT_KEEP_RUNS,
    "resume": None,
    "notifications": (),
    "max_cost": None,
    "capacity": (),
    "capacity_limit": OnLadder().capacity_limit,
}
"""Inputs that are not part of the job, with the meaning of their absence in a state."""


@dataclass(frozen=True, kw_only=True)
class JobInputs:
    """The inputs of a job beside its spec: `class Inputs(JobInputs, Spec)`.

    `identity` belongs to the declaration's runs if the state has none yet. `staging_bucket` gets a run's
    output if no `base_output_directory` is declared. `spec_hash` is the hash of the declaration, filled in by
    check. `marks` are the project, stack and resource name of the declaration, for people. `framework` and
    the two switches are for `CheckOptions`; `stall_timeout` becomes a variable of each task. Marks and
    options never take part in a diff. The inputs in `RECORD` are updated in place; `notifications` are those
    that the emulator sends. `adopt` and `taking_over` are read when the resource is new, and never again.
    `keeps_retries`: the program sets `disable_retries` to False, so `max_cost` does not turn the service's
    retries off.
    """

    endpoint: str
    project: str
    location: str
    identity: str = ""
    run_token: str | None = None
    staging_bucket: str | None = None
    staging_bucket_location: str | None = None
    spec_hash: str | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
    framework: str | None = None
    stall_timeout: float | None = None
    allow_unknown_types: bool = False
    allow_legacy_types: bool = False
    rerun: Literal["on_change", "on_failure", "always", "never"] = "on_change"
    rerun_limit: int = DEFAULT_LIMIT
    protect_running: bool = False
    on_delete: Literal["delete", "cancel"] | None = None
    on_replace: Literal["keep", "delete"] = "keep"
    keep_runs: int = DEFAULT_KEEP_RUNS
    resume: str | None = None
    notifications: tuple[Notification, ...] = ()
    adopt: str | None = None
    taking_over: str | None = None
    max_cost: float | None = None
    keeps_retries: bool | None = None

    @property
    def target(self) -> Target:
        return Target(cast(EndpointKind, self.endpoint), self.project, self.location)


class Counts(NamedTuple):
    """Counts of the replicas or trials of a live job.

    `short` is "3/4", which follows the state on the job's row; `details` follow its progress.
    """

    short: str = ""
    details: str = ""


@dataclass(frozen=True, kw_only=True)
class JobResourceType:
    """A kind of job as Pulumi declares it: one value for each kind, in its `provider.py`.

    `inputs` has the fields of `JobInputs` and of the spec. The others are parts that a kind may have of its
    own. `outputs` are outputs that the state keeps of a record, besides those of every kind. `results` are
    the kind's own entries of `completion`, by the endpoint, the record and the output directory; `no_results`
    are those of a job that is gone. `progress` counts the replicas or trials of a live job. `log_of` is
    the name of the job whose log `stream_logs` shows, None before there is a job. `discard` is called right
    before a record is deleted, with the endpoint, the record, the reason to keep the model that the job
    uploaded ("" to delete it), and a function that reports to the user. `conflict` is a conflict with
    another resource of this program, by the inputs and the paths of them that are not known yet. `checks`
    are rules of the inputs besides those of the spec. `refused` are inputs of other kinds, with the reason
    why this kind does not have them. `on_machines` are the problems of a job on an
    existing persistent resource, by the inputs, the resource in the API's JSON, and the paths that are
    not known yet.
    """

    gateway: RunGateway
    spec: JobKind[Any]
    inputs: type[Any]
    outputs: Callable[[JobRecord], Mapping[str, Any]] = lambda _: {}
    results: Callable[[Endpoint, JobRecord, str | None], Mapping[str, Any]] = lambda *_: {}
    no_results: Mapping[str, Any] = field(default_factory=dict)
    progress: Callable[[Endpoint, JobRecord], Counts] = lambda *_: Counts()
    log_of: Callable[[JobRecord], str | None] = lambda record: record.name
    discard: Callable[[Endpoint, JobRecord, str, Callable[[str], None]], None] | None = None
    conflict: Callable[[Any, Collection[str]], Problem | None] = lambda *_: None
    checks: Sequence[Callable[[Any], Iterable[Problem]]] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    on_machines: Callable[[Any, Mapping[str, Any], Collection[str]], Sequence[Problem]] = lambda *_: ()

    @property
    def noun(self) -> str:
        return self.gateway.noun

    @property
    def spec_fields(self) -> tuple[str, ...]:
        """The inputs that belong to the spec."""
        return tuple(item.name for item in dataclasses.fields(self.spec.spec))

    @property
    def hashed(self) -> tuple[str, ...]:
        """The inputs that the hash of a declaration covers: a change of these is a new run."""
        return (*(name for name in self.spec_fields if name not in OF_NEXT_RUN), "staging_bucket")

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(item.name for item in dataclasses.fields(self.inputs))

    def inputs_in(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties that are inputs."""
        return {name: props[name] for name in self.input_names if name in props}

    def decode_inputs(self, props: Mapping[str, Any]) -> Decoded[Any]:
        """Return the inputs in normal form, with every problem that needs no query."""
        options = check_options(props)

        def check(inputs: Any) -> list[Problem]:
            has_output = bool(inputs.staging_bucket)

            def of_job(spec: Any, location: str | None = options.location) -> Sequence[Problem]:
                there = dataclasses.replace(options, location=location or None)
                return self.spec.validate(spec, options=there, has_output=has_output)

            return [
                *of_job(inputs),
                *(self._ladder_problems(inputs, of_job) if isinstance(inputs, OnLadder) else ()),
                *argument_problems(inputs.stall_timeout),
                *_place_problems(inputs),
                *_max_cost_problems(inputs),
                *package_module_problems(inputs),
                *resume_problems(inputs, inputs.resume, staging_bucket=inputs.staging_bucket),
                # The program has seen the targets that the emulator does not send, too.
                *notification_problems(Notifications(notifications=inputs.notifications), needs_target=False),
                *(problem for each in self.checks for problem in each(inputs)),
            ]

        decoded: Decoded[Any] = decode_spec(
            self.inputs,
            {name: value for name, value in props.items() if name not in self.refused},
            normalise=self.spec.normalise,
            check=check,
            location=_location(props),
            at=self.spec.at,
            framework=props.get("framework"),
            stall_timeout=props.get("stall_timeout"),
        )
        refused = [Problem(path=name, message=self.refused[name]) for name in self.refused if name in props]
        if not refused:
            return decoded
        return dataclasses.replace(decoded, spec=None, problems=(*refused, *decoded.problems))

    def _ladder_problems(
        self, inputs: Any, of_job: Callable[[Any, str], Sequence[Problem]]
    ) -> Iterable[Problem]:
        def key(rung: Rung) -> str:
            return self.rung_key(inputs, rung)

        return ladder_problems(
            inputs,
            inputs,
            location=inputs.location,
            staging_bucket=inputs.staging_bucket,
            of_job=of_job,
            key=key,
        )

    def rung_key(self, inputs: Any, rung: Rung) -> str:
        """Return the key that tells a rung of the inputs' ladder apart from others."""
        return key_of(self.spec_of(inputs), rung, self.spec.spec_hash, location=inputs.location)

    def read_inputs(self, props: Mapping[str, Any]) -> Decoded[Any]:
        """Return inputs that were checked before, in normal form. No rule is checked again."""
        return decode_spec(
            self.inputs,
            props,
            normalise=self.spec.normalise,
            check=lambda _: (),
            location=_location(props),
            at=self.spec.at,
        )

    def filled_in(self, props: Mapping[str, Any]) -> Sequence[str]:
        """Describe what was filled in: the number of "auto" reduction servers, and a framework's choices."""
        filled = fill_parts(
            props, at=self.spec.at, location=_location(props), framework=props.get("framework")
        )
        return [*([filled.arithmetic] if filled.arithmetic else []), *filled.sentences]

    def declared_hash(self, spec: object, staging_bucket: str | None) -> str:
        """Return the hash of a decoded declaration.

        The output directory of `spec` is None unless it is declared.
        """
        if self.spec.output_directory(spec) is None and staging_bucket:
            spec = self.spec.with_output_directory(spec, f"gs://{staging_bucket}/")
        return self.spec.spec_hash(spec)

    def spec_of(self, inputs: object) -> Any:
        """Return the part of the inputs that is sent to the service."""
        return self.spec.spec(**{name: getattr(inputs, name) for name in self.spec_fields})

    def follows_run(self, inputs: Any) -> bool:
        """Return whether each run chooses its output directory, in the staging bucket: none is declared."""
        return bool(inputs.staging_bucket) and self.spec.output_directory(inputs) is None

    def of_run(self, inputs: Any, run: str, kept: str | None = None) -> Any:
        """Return the inputs with all that a run gets when it is submitted, and no declaration has.

        These are its output directory, unless one is declared, and the folder of its checkpoints. `kept` is
        the folder of the run that it continues.
        """
        checkpoints = self.checkpoints_of(inputs, run, kept)
        if checkpoints:
            inputs = with_variable(inputs, checkpoints)
        if not self.follows_run(inputs):
            return inputs
        return self.spec.with_output_directory(inputs, f"{_parent(inputs)}{run}/")

    def checkpoints_of(self, inputs: Any, run: str, kept: str | None = None) -> str | None:
        """Return the folder of a run's checkpoints, None if it gets none.

        A lineage that continues in another bucket keeps its name there.
        """
        if not self.has_checkpoints(inputs):
            return None
        if inputs.resume not in (None, AFTER_INTERRUPTION):
            return directory(inputs.resume)
        lineage = lineage_of(kept or "")
        if kept and lineage and kept.startswith(f"gs://{inputs.staging_bucket}/"):
            return kept
        return lineage_folder(_parent(inputs), lineage or run)

    def has_checkpoints(self, inputs: Any) -> bool:
        """Return whether the runs get a folder of checkpoints. Each trial of a tuning has one of its own."""
        if inputs.resume == NEVER or is_tuning(inputs):
            return False
        return bool(inputs.resume not in (None, AFTER_INTERRUPTION) or inputs.staging_bucket)

    def wire(self, inputs: Any) -> dict[str, Any]:
        """Return the request for the service, with labels for people."""
        wire = self.spec.to_wire(self.spec_of(inputs))
        return {**wire, "labels": {**wire.get("labels", {}), **ownership_labels(inputs.marks)}}

    def before_delete(
        self, *, kept_because: str, tell: Callable[[str], None]
    ) -> Callable[[Endpoint, str], None]:
        """Return the function to call right before a record is deleted; `kept_because` as for `discard`."""

        def call(endpoint: Endpoint, name: str) -> None:
            if self.discard is not None:
                self.discard(endpoint, self.gateway.get(endpoint, name), kept_because, tell)

        return call

    def resource(self, props: Mapping[str, Any]) -> str:
        """Return the name of the resource with these inputs or outputs, as the user knows it."""
        return str(props.get("marks", {}).get("resource", self.noun))


MODEL_OF_REPLACED = "only the pipeline that uploaded it is replaced"


def models_kept_because(on_delete: object) -> str:
    """Return the reason why a model outlives the pipeline that uploaded it, "" if it is deleted with it."""
    return "" if on_delete == OnDelete.DELETE.value else 'on_delete="delete" is not set'


def declared_in(collection: str) -> JobResourceType:
    """Return the resource type of a collection. Raises KeyError if no kind of job has it."""
    return registry.runnable(collection).part("provider", "DECLARED", JobResourceType)


def declared_of(name: str) -> JobResourceType:
    """Return the resource type of the job with this full name. Raises KeyError for any other name."""
    return declared_in(registry.collection_of(name))


def _location(props: Mapping[str, Any]) -> str | Unknown | None:
    location = props.get("location")
    return location if isinstance(location, (str, Unknown)) else None


def check_options(props: Mapping[str, Any]) -> CheckOptions:
    """Return the options of the checks, as far as they can be read; `decode` reports what cannot."""
    location, framework = _location(props), props.get("framework")
    return CheckOptions(
        location=location if isinstance(location, str) and location else None,
        framework=framework if isinstance(framework, str) else None,
        allow_unknown_types=props.get("allow_unknown_types") is True,
        allow_legacy_types=props.get("allow_legacy_types") is True,
    )


def _parent(inputs: JobInputs) -> str:
    """Return the folder of the staging bucket with the output of all runs of the declaration."""
    return f"gs://{inputs.staging_bucket}/{object_prefix(inputs.marks.get('resource', 'job'))}/"


def _place_problems(inputs: JobInputs) -> list[Problem]:
    """Return the problems of the location, the project and the staging bucket."""
    problems = []
    if not inputs.location:
        problems.append(
            Problem(
                path="location",
                message="is not given. A training job runs in one region. Set it here, or run "
                "`pulumi config set vertex-training:location us-central1`.",
            )
        )
    problems += project_problems(inputs.project)
    problems += staging_bucket_problems(inputs.staging_bucket)
    problems += bucket_region_problems(
        inputs.staging_bucket, bucket_location=inputs.staging_bucket_location, location=inputs.location
    )
    return problems


def _max_cost_problems(inputs: JobInputs) -> list[Problem]:
    if inputs.max_cost is None:
        return []
    from vertex_training.cost.max_cost import amount_fault  # imported only if needed

    fault = amount_fault(inputs.max_cost)
    return [Problem(path="max_cost", message=fault)] if fault else []


def ownership_labels(marks: Mapping[str, str]) -> dict[str, str]:
    """Return labels that show a person where a job came from; never used to find it."""
    return {f"pulumi-{name}": ownership_label_value(value) for name, value in marks.items()}


def root(path: str) -> str:
    """Return the field of the inputs that a path begins with."""
    return re.split(r"[.\[]", path)[0]
