"""The provider of `PersistentResource`: sizes, display name and labels change in place, all else does not.

Nothing waits here for the minutes that the service takes: creation, update and reboot are begun
(`persistent_resource_changes`), and the program waits (`readiness`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pulumi.dynamic import CreateResult, DiffResult, UpdateResult

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, CloudError, NotFound, Unavailable
from pulumi_vertex_training.kinds.persistent_resource import changes as service
from pulumi_vertex_training.kinds.persistent_resource import gateway as persistent_resources
from pulumi_vertex_training.kinds.persistent_resource import rules as checks
from pulumi_vertex_training.kinds.persistent_resource.effects import changes
from pulumi_vertex_training.kinds.persistent_resource.gateway import ResourceRecord, ResourceState
from pulumi_vertex_training.kinds.persistent_resource.spec import (
    PersistentResource,
    as_declared,
    full_name,
    normalise,
)
from pulumi_vertex_training.kinds.persistent_resource.wire import from_wire, to_wire
from pulumi_vertex_training.plugin import timeouts
from pulumi_vertex_training.plugin.autonaming import with_own_id
from pulumi_vertex_training.plugin.connection import endpoint_of
from pulumi_vertex_training.plugin.crud import CrudKind, CrudProvider
from pulumi_vertex_training.plugin.operation import OPERATION
from pulumi_vertex_training.plugin.process import engine_address, say
from pulumi_vertex_training.plugin.provider import clean, inbound, outbound
from pulumi_vertex_training.plugin.running.declaration import ownership_labels
from pulumi_vertex_training.plugin.timeouts import Timeouts
from vertex_training.fields.effects import Effect
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem

PLACE = ("endpoint", "project", "location", "persistent_resource_id")
OUTPUTS = ("asked_by",)


@dataclass(frozen=True, kw_only=True)
class PersistentResourceInputs(PersistentResource):
    """A persistent resource's inputs in Pulumi's state: the spec's fields, and these.

    Another `reboot_token` restarts its machines. `marks` say whose it is; marks and the two switches never
    take part in a diff.
    """

    endpoint: str
    project: str
    location: str
    persistent_resource_id: str
    reboot_token: str | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
    allow_unknown_types: bool = False
    allow_legacy_types: bool = False


def _problems(inputs: PersistentResourceInputs, options: CheckOptions) -> Iterator[Problem]:
    yield from checks.id_problems(inputs.persistent_resource_id)
    yield from checks.validate(inputs, options=options)


def _there(endpoint: Endpoint, name: str) -> ResourceRecord:
    """One that is being deleted nobody can have any more; what is made next waits for its end."""
    record = persistent_resources.get(endpoint, name)
    if record.state is ResourceState.STOPPING:
        raise NotFound(f"persistent resource {record.resource_id} is being deleted", endpoint=endpoint)
    return record


def _lives(record: ResourceRecord, inputs: PersistentResourceInputs) -> PersistentResource:
    return as_declared(from_wire(record.wire), DECLARED.spec_of(inputs))


DECLARED: CrudKind[PersistentResourceInputs, PersistentResource, ResourceRecord] = CrudKind(
    noun="persistent resource",
    spec=PersistentResource,
    inputs=PersistentResourceInputs,
    outputs=OUTPUTS,
    label=lambda inputs: inputs.persistent_resource_id,
    normalise=normalise,
    problems=_problems,
    get=_there,
    live_spec=_lives,
)


class PersistentResourceProvider(CrudProvider):
    """Inputs: `PersistentResourceInputs`. Output besides: `asked_by`, the engine that changed it last."""

    declared = DECLARED

    def prepared(self, olds: dict[str, Any], news: dict[str, Any]) -> dict[str, Any]:
        news, said = {**news}, timeouts.read(news.get(timeouts.KEY))
        news.pop(timeouts.KEY, None)
        news = with_own_id("persistent_resource_id", _id_made_from, olds, news)
        OPERATION.note_timeouts(_place(news), said)
        return news

    def accepted(self, inputs: Any) -> None:
        OPERATION.note_checked(_memory(inputs))

    @clean
    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        old, new = DECLARED.decode(inbound(_olds)), DECLARED.decode(inbound(_news))
        if old.draft is None or new.draft is None:
            raise ValueError("a persistent resource's inputs cannot be read; please report this")
        found = {**changes(old.draft, new.draft), **_unknown_changes(new.unknown)}
        moved = [
            name
            for name in PLACE
            if getattr(old.draft, name) != getattr(new.draft, name) or name in new.unknown
        ]
        OPERATION.note_recorded_id(_id)
        replaces = [*moved, *(name for name, effect in found.items() if effect is Effect.REPLACE)]
        if not replaces and OPERATION.was_checked(_memory(new.draft)):
            OPERATION.note_kept(_id, _memory(new.draft), inbound(_olds))
        rebooted = old.draft.reboot_token != new.draft.reboot_token or "reboot_token" in new.unknown
        # An id exists once in its project and location, and machines for two may not be to be had.
        return DiffResult(
            changes=bool(found or moved or rebooted), replaces=replaces, delete_before_replace=True
        )

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        raw = inbound(props)
        inputs = DECLARED.read_inputs(raw)
        endpoint, name = endpoint_of(raw), _name_of(inputs)
        wire = to_wire(DECLARED.spec_of(inputs), marks=ownership_labels(inputs.marks))
        timeouts = _timeouts(raw)
        allowing = replace(endpoint, allow_unknown_types=inputs.allow_unknown_types)
        try:
            service.create(allowing, inputs.persistent_resource_id, wire, timeouts=timeouts)
        except (AlreadyExists, Unavailable) as error:
            found = _left_behind(endpoint, name, inputs)
            if found is None:
                raise _taken(error, inputs) from error
            _take_over(allowing, name, found, inputs, wire, timeouts)
            OPERATION.note_made(name)
        return CreateResult(name, outbound({**raw, "asked_by": engine_address()}))

    @clean
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        raw = inbound(_news)
        old, inputs, endpoint = (
            DECLARED.read_inputs(inbound(_olds)),
            DECLARED.read_inputs(raw),
            endpoint_of(raw),
        )
        record, timeouts = persistent_resources.get(endpoint, _id), _timeouts(raw)
        standing = _standing(record, DECLARED.spec_of(old), DECLARED.spec_of(inputs))
        _update(endpoint, _id, standing, inputs, timeouts)
        # One that an interrupted deployment has begun is this one.
        if old.reboot_token != inputs.reboot_token and record.state is not ResourceState.REBOOTING:
            service.reboot(endpoint, _id, timeouts=timeouts)
            say(f"persistent resource {inputs.persistent_resource_id}: reboots, as reboot_token has changed")
        return UpdateResult(outbound({**raw, "asked_by": engine_address()}))

    @clean
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        raw = inbound(_props)
        if OPERATION.made(_id) or OPERATION.belongs_to_another_entry(_id, raw):
            return  # another resource with the same id has taken it over
        OPERATION.note_recorded_id(_id)
        endpoint, resource_id = endpoint_of(raw), raw["persistent_resource_id"]
        try:
            record = persistent_resources.get(endpoint, _id)
            if record.state is not ResourceState.STOPPING:
                if used := _used(record):
                    say(
                        f"persistent resource {resource_id}: its jobs are cancelled; {used} machines are used"
                    )
                service.begin_deletion(endpoint, _id)
        except NotFound:
            return
        if not service.is_deleted_soon(endpoint, _id):
            say(f"persistent resource {resource_id}: is being deleted; the service goes on by itself")


def _take_over(
    endpoint: Endpoint,
    name: str,
    found: ResourceRecord,
    inputs: PersistentResourceInputs,
    wire: Mapping[str, Any],
    timeouts: Timeouts,
) -> None:
    """Make what an interrupted deployment has left the declared one: in place, else anew."""
    left = f"persistent resource {inputs.persistent_resource_id}: "
    if _can_become(found, inputs):
        _update(endpoint, name, _lives(found, inputs), inputs, timeouts)
        say(f"{left}taken over; an interrupted deployment of this stack made it")
        return
    say(f"{left}an interrupted deployment of this stack made it, and it is another one now; made anew")
    service.begin_deletion(endpoint, name)
    service.create(endpoint, inputs.persistent_resource_id, wire, timeouts=timeouts)


def _update(
    endpoint: Endpoint,
    name: str,
    old: PersistentResource,
    inputs: PersistentResourceInputs,
    timeouts: Timeouts,
) -> None:
    marks = ownership_labels(inputs.marks)
    service.update(endpoint, name, old, DECLARED.spec_of(inputs), marks=marks, timeouts=timeouts)


def _timeouts(props: Mapping[str, Any]) -> Timeouts:
    """What the check was told."""
    return OPERATION.timeouts(_place(props))


def _place(props: Mapping[str, Any]) -> str:
    return f"persistent resource {[props.get(name) for name in PLACE]}"


def _left_behind(endpoint: Endpoint, name: str, inputs: PersistentResourceInputs) -> ResourceRecord | None:
    """The resource, where it has the marks of this very declaration, no job runs on it, and it can be made
    what is declared: then there is nothing to lose if another than a killed deployment made it. Where the
    state had one of its name, a killed deployment made it, and it may be another one.
    """
    marks = ownership_labels(inputs.marks)
    try:
        record = persistent_resources.get(endpoint, name)
    except CloudError:
        return None
    ours = bool(marks) and all(record.labels.get(key) == value for key, value in marks.items())
    if not ours or record.state is ResourceState.STOPPING or _used(record):
        return None
    return record if _can_become(record, inputs) or OPERATION.was_recorded(name) else None


def _can_become(record: ResourceRecord, inputs: PersistentResourceInputs) -> bool:
    return Effect.REPLACE not in changes(_lives(record, inputs), DECLARED.spec_of(inputs)).values()


def _standing(record: ResourceRecord, old: PersistentResource, new: PersistentResource) -> PersistentResource:
    """What an update begins from: what lives, as a killed deployment may have begun another update than the
    state has. Of autoscaled pools it is the recorded size.
    """
    lives = as_declared(from_wire(record.wire), new)
    if len(lives.resource_pools) != len(old.resource_pools):
        return old
    pools = tuple(
        was if was.is_autoscaled else pool
        for was, pool in zip(old.resource_pools, lives.resource_pools, strict=True)
    )
    lives = replace(lives, resource_pools=pools)
    return old if Effect.REPLACE in changes(lives, new).values() else lives


def _used(record: ResourceRecord) -> int:
    return sum(int(pool.get("usedReplicaCount", 0)) for pool in record.wire.get("resourcePools", ()))


def _taken(error: CloudError, inputs: PersistentResourceInputs) -> CloudError:
    if not isinstance(error, AlreadyExists):
        return error
    return AlreadyExists(
        f"persistent resource {inputs.persistent_resource_id} exists already in project {inputs.project}, "
        f"{inputs.location}. Choose another persistent_resource_id; to run jobs on the one that is there, "
        f'give its id to CustomJob(persistent_resource_id="{inputs.persistent_resource_id}"). ({error})',
        code=error.code,
        resource=inputs.persistent_resource_id,
        endpoint=error.endpoint,
    )


def _unknown_changes(unknown: Collection[str]) -> dict[str, Effect]:
    """The fields of which something is not known yet, each with what it may do."""
    found: dict[str, Effect] = {}
    for path in unknown:
        name = path.partition(".")[0].partition("[")[0]
        if name not in DECLARED.spec_fields:
            continue
        in_place = name in ("display_name", "labels") or path.endswith("].replica_count")
        if found.get(name) is not Effect.REPLACE:
            found[name] = Effect.UPDATE if in_place else Effect.REPLACE
    return found


def _memory(inputs: PersistentResourceInputs) -> str:
    return f"persistent resource {_name_of(inputs)} {inputs.marks.get('resource')}"


def _id_made_from(resource_name: str) -> str:
    return checks.valid_id(resource_name) or resource_name


def _name_of(inputs: PersistentResourceInputs) -> str:
    return full_name(inputs.project, inputs.location, inputs.persistent_resource_id)
