"""The provider of `PersistentResource`: sizes, display name and labels change in place, all else does not.

Nothing waits here for the minutes that the service takes: creation, update and reboot are begun, and the
program waits (`readiness`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulumi.dynamic import CreateResult, DiffResult, UpdateResult

from pulumi_vertex_training import patience
from pulumi_vertex_training.adapter import Failure, clean, inbound, outbound
from pulumi_vertex_training.connection import endpoint_of
from pulumi_vertex_training.declaration import mark_labels
from pulumi_vertex_training.ordinary import Ordinary, OrdinaryProvider
from pulumi_vertex_training.own_ids import with_own_id
from pulumi_vertex_training.patience import InterruptedWaitError, Timeouts
from pulumi_vertex_training.plugin import PLUGIN, engine_address, say
from vertex_training.cloud import persistent_resources
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import AlreadyExists, CloudError, FailedPrecondition, NotFound, Unavailable
from vertex_training.cloud.persistent_resources import ResourceRecord, ResourceState
from vertex_training.specs import persistent_resource_checks as checks
from vertex_training.specs.effects import Effect
from vertex_training.specs.persistent_resource import PersistentResource, as_declared, full_name, normalise
from vertex_training.specs.persistent_resource_effects import changes
from vertex_training.specs.persistent_resource_wire import from_wire, patch, to_wire
from vertex_training.topology.options import CheckOptions
from vertex_training.topology.problems import Problem

PLACE = ("endpoint", "project", "location", "persistent_resource_id")
OUTPUTS = ("asked_by",)

DELETE_SECONDS = 60.0
"""How long a deletion is waited for; the service goes on with it by itself."""

GONE_SECONDS = 300.0
"""How long a creation waits for the one before it, which has the same id, to be gone, unless
`custom_timeouts` says something else."""

SETTLE_SECONDS = 300.0
"""How long an update waits while the service is busy with another change, unless `custom_timeouts` says
something else."""

_BUSY = (ResourceState.PROVISIONING, ResourceState.UPDATING, ResourceState.REBOOTING)

T = TypeVar("T")


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


def _lives(record: ResourceRecord, inputs: PersistentResourceInputs) -> PersistentResource:
    return as_declared(from_wire(record.wire), DECLARED.spec_of(inputs))


DECLARED: Ordinary[PersistentResourceInputs, PersistentResource, ResourceRecord] = Ordinary(
    noun="persistent resource",
    spec=PersistentResource,
    inputs=PersistentResourceInputs,
    outputs=OUTPUTS,
    label=lambda inputs: inputs.persistent_resource_id,
    normalise=normalise,
    problems=_problems,
    get=persistent_resources.get,
    lives=_lives,
)


class PersistentResourceProvider(OrdinaryProvider):
    """Inputs: `PersistentResourceInputs`. Output besides: `asked_by`, the engine that changed it last."""

    declared = DECLARED

    def prepared(self, olds: dict[str, Any], news: dict[str, Any]) -> dict[str, Any]:
        news, said = {**news}, patience.read(news.get(patience.KEY))
        news.pop(patience.KEY, None)
        news = with_own_id("persistent_resource_id", _id_made_from, olds, news)
        PLUGIN.remember(_memory(news), said)
        return news

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
        replaces = [*moved, *(name for name, effect in found.items() if effect is Effect.REPLACE)]
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
        wire = to_wire(DECLARED.spec_of(inputs), marks=mark_labels(inputs.marks))
        try:
            _create(endpoint, inputs.persistent_resource_id, wire, _timeouts(raw))
        except (AlreadyExists, Unavailable) as error:
            found = _left_behind(endpoint, name, inputs)
            if found is None:
                raise _taken(error, inputs) from error
            PLUGIN.note_made(name)
            _update(endpoint, name, _lives(found, inputs), inputs, _timeouts(raw))
            say(
                f"persistent resource {inputs.persistent_resource_id}: taken over; an interrupted deployment "
                "of this stack made it"
            )
        return CreateResult(name, outbound({**raw, "asked_by": engine_address()}))

    @clean
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        raw = inbound(_news)
        old, inputs, endpoint = (
            DECLARED.read_inputs(inbound(_olds)),
            DECLARED.read_inputs(raw),
            endpoint_of(raw),
        )
        _update(endpoint, _id, DECLARED.spec_of(old), inputs, _timeouts(raw))
        if old.reboot_token != inputs.reboot_token:
            _once_settled(
                endpoint,
                _id,
                lambda: persistent_resources.reboot(endpoint, _id),
                timeouts=_timeouts(raw),
            )
            say(f"persistent resource {inputs.persistent_resource_id}: reboots, as reboot_token has changed")
        return UpdateResult(outbound({**raw, "asked_by": engine_address()}))

    @clean
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        if PLUGIN.made(_id):
            return  # another resource of this deployment, with the same id, has just taken it over
        raw = inbound(_props)
        endpoint, resource_id = endpoint_of(raw), raw["persistent_resource_id"]
        try:
            record = persistent_resources.get(endpoint, _id)
            if record.state is not ResourceState.STOPPING:
                if used := _used(record):
                    say(
                        f"persistent resource {resource_id}: its jobs are cancelled; {used} machines are used"
                    )
                _once_settled(
                    endpoint,
                    _id,
                    lambda: persistent_resources.delete(endpoint, _id),
                    busy=(ResourceState.REBOOTING,),
                )
        except NotFound:
            return
        title = f"persistent resource {resource_id}"
        gone = _gone_within(
            endpoint,
            _id,
            DELETE_SECONDS,
            progress=lambda passed: f"{title}: is being deleted, for {passed:.0f} s so far",
        )
        if not gone:
            say(f"persistent resource {resource_id}: is being deleted; the service goes on by itself")


def _create(endpoint: Endpoint, resource_id: str, wire: Mapping[str, Any], timeouts: Timeouts) -> None:
    """Begin the creation, once the resource of this id that is being deleted is gone."""
    name = full_name(endpoint.project, endpoint.location, resource_id)
    try:
        persistent_resources.create(endpoint, resource_id, wire)
    except AlreadyExists:
        try:
            stopping = persistent_resources.get(endpoint, name).state is ResourceState.STOPPING
        except NotFound:
            stopping = True
        if not stopping:
            raise
        _await_the_end_of_the_one_before(endpoint, name, timeouts)
        persistent_resources.create(endpoint, resource_id, wire)


def _await_the_end_of_the_one_before(endpoint: Endpoint, name: str, timeouts: Timeouts) -> None:
    """Raises `Failure` where it is not gone in time, or Ctrl-C ends the wait."""
    seconds = GONE_SECONDS if timeouts.create is None else timeouts.create
    title = f"persistent resource {name.rpartition('/')[2]}"
    say(f"{title}: waiting until the one before it is deleted, for {seconds:g} s at most")
    try:
        gone = _gone_within(
            endpoint,
            name,
            seconds,
            progress=lambda passed: f"{title}: the one before it is still being deleted after {passed:.0f} s",
        )
    except InterruptedWaitError:
        raise Failure(
            f"{title}: interrupted while the one before it is being deleted; nothing was made. Run "
            "`pulumi up` again: it waits for the rest of it."
        ) from None
    if not gone:
        raise Failure(
            f"{title}: the one before it is still being deleted after {seconds:g} s; nothing was made. Run "
            "`pulumi up` again when it is gone, or choose another persistent_resource_id. "
            'custom_timeouts=pulumi.CustomTimeouts(create="20m") among its opts waits longer.'
        )


def _update(
    endpoint: Endpoint,
    name: str,
    old: PersistentResource,
    inputs: PersistentResourceInputs,
    timeouts: Timeouts,
) -> None:
    """Begin what makes the declared resource of the old one; nothing where they are the same."""
    marks = mark_labels(inputs.marks)
    mask = patch(old, DECLARED.spec_of(inputs), marks=marks).mask
    if not mask:
        return

    def begin() -> None:
        lives = (
            persistent_resources.get(endpoint, name).wire if "resource_pools.replica_count" in mask else None
        )
        change = patch(old, DECLARED.spec_of(inputs), lives=lives, marks=marks)
        persistent_resources.patch(endpoint, name, change.body, mask=change.mask)

    _once_settled(endpoint, name, begin, timeouts=timeouts)


def _once_settled(
    endpoint: Endpoint,
    name: str,
    begin: Callable[[], object],
    *,
    busy: Collection[ResourceState] = _BUSY,
    timeouts: Timeouts = Timeouts(),  # noqa: B008
) -> None:
    """Begin a change; while the service is busy with another one, later. Raises FailedPrecondition, and
    `Failure` after Ctrl-C."""
    refusals: list[FailedPrecondition] = []
    title = f"persistent resource {name.rpartition('/')[2]}"

    def begun() -> bool:
        try:
            begin()
        except FailedPrecondition as error:
            if persistent_resources.get(endpoint, name).state not in busy:
                raise
            refusals.append(error)
            return False
        return True

    try:
        done = patience.wait(
            begun,
            seconds=SETTLE_SECONDS if timeouts.update is None else timeouts.update,
            pause=_pause(endpoint),
            progress=lambda passed: f"{title}: still busy with another change after {passed:.0f} s",
        )
    except InterruptedWaitError:
        raise Failure(
            f"{title}: interrupted while the service is busy with another change; nothing was changed. Run "
            "`pulumi up` again."
        ) from None
    if not done:
        raise refusals[-1]


def _gone_within(
    endpoint: Endpoint,
    name: str,
    seconds: float,
    *,
    progress: Callable[[float], str],
) -> bool:
    def is_gone() -> bool:
        try:
            persistent_resources.get(endpoint, name)
        except NotFound:
            return True
        return False

    return patience.wait(is_gone, seconds=seconds, pause=_pause(endpoint), progress=progress)


def _timeouts(props: Mapping[str, Any]) -> Timeouts:
    """What the check was told."""
    return PLUGIN.recall(_memory(props)) or Timeouts()


def _memory(props: Mapping[str, Any]) -> str:
    return f"timeouts of persistent resource {[props.get(name) for name in PLACE]}"


def _pause(endpoint: Endpoint) -> float:
    return 0.1 if endpoint.is_emulator else 5.0


def _left_behind(endpoint: Endpoint, name: str, inputs: PersistentResourceInputs) -> ResourceRecord | None:
    """The resource, where it has the marks of this very declaration, no job runs on it, and it can be made
    what is declared: then there is nothing to lose if another than a killed deployment made it."""
    marks = mark_labels(inputs.marks)
    try:
        record = persistent_resources.get(endpoint, name)
    except CloudError:
        return None
    ours = bool(marks) and all(record.labels.get(key) == value for key, value in marks.items())
    if not ours or record.state is ResourceState.STOPPING or _used(record):
        return None
    spec = DECLARED.spec_of(inputs)
    found = changes(_lives(record, inputs), spec)
    return None if Effect.REPLACE in found.values() else record


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


def _id_made_from(resource_name: str) -> str:
    return checks.valid_id(resource_name) or resource_name


def _name_of(inputs: PersistentResourceInputs) -> str:
    return full_name(inputs.project, inputs.location, inputs.persistent_resource_id)
