"""The provider of `PersistentResource`: sizes, display name and labels change in place, all else replaces it.

The provider only starts creation, update and reboot (`operations`), which take minutes. The program waits for
them (`readiness`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.core.autonaming import id_from, with_own_id
from pulumi_vertex_training.core.call import Call, Created, Difference, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.crud import CrudKind, CrudProvider
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.identity.conflicts import Identity
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.running.declaration import ownership_labels
from pulumi_vertex_training.core.running.output.cost_line import announce_resize
from pulumi_vertex_training.kinds.persistent_resource import gateway, operations, rules
from pulumi_vertex_training.kinds.persistent_resource.gateway import ResourceRecord, ResourceState
from pulumi_vertex_training.kinds.persistent_resource.spec import (
    EFFECTS,
    PersistentResource,
    as_declared,
    effects_of_changes,
    from_wire,
    full_name,
    normalise,
    to_wire,
)
from vertex_training.fields.decode import encode
from vertex_training.fields.effects import Effect
from vertex_training.fields.labels import has_key, key_label
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem

IDENTITY = ("endpoint", "project", "location", "persistent_resource_id")
OUTPUTS = ("asked_by",)
"""Outputs of the provider. A host that waits for the resource records its `state` besides."""


@dataclass(frozen=True, kw_only=True)
class PersistentResourceInputs(PersistentResource):
    """A persistent resource's inputs in Pulumi's state: the spec's fields, and these.

    A change of `reboot_token` restarts the machines. `marks` identify the declaration. `adopt` adopts an
    existing resource when this one is created. A diff ignores marks, `adopt` and the two switches.
    """

    endpoint: str
    project: str
    location: str
    persistent_resource_id: str
    reboot_token: str | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
    allow_unknown_types: bool = False
    allow_legacy_types: bool = False
    adopt: bool = False


def _input_problems(inputs: PersistentResourceInputs, options: CheckOptions) -> Iterator[Problem]:
    yield from rules.id_problems(inputs.persistent_resource_id)
    yield from rules.validate(inputs, options=options)
    runtime = inputs.resource_runtime_spec
    if inputs.endpoint == "emulator" and runtime and runtime.ray_spec:
        yield Problem(
            path="resource_runtime_spec.ray_spec",
            message="the emulator runs no Ray. Leave it out and call ray.init() in the program of a "
            "CustomJob, or deploy to Google Cloud (pulumi config set vertex-training:endpoint google)",
            rests_on=("endpoint", "resource_runtime_spec"),
        )


def _get_unless_deleting(endpoint: Endpoint, name: str) -> ResourceRecord:
    """Fetch a resource. Raises NotFound also if it is being deleted: a creation waits until it is gone."""
    record = gateway.get(endpoint, name)
    if record.state is ResourceState.STOPPING:
        raise NotFound(f"persistent resource {record.resource_id} is being deleted", endpoint=endpoint)
    return record


def _live_spec(record: ResourceRecord, inputs: PersistentResourceInputs) -> PersistentResource:
    return as_declared(from_wire(record.wire), DECLARED.spec_of(inputs))


DECLARED: CrudKind[PersistentResourceInputs, PersistentResource, ResourceRecord] = CrudKind(
    noun="persistent resource",
    spec=PersistentResource,
    inputs=PersistentResourceInputs,
    outputs=(*OUTPUTS, "state"),
    label=lambda inputs: inputs.persistent_resource_id,
    normalise=normalise,
    problems=_input_problems,
    get=_get_unless_deleting,
    live_spec=_live_spec,
    imported=lambda record: encode(from_wire(record.wire)),
)


class PersistentResourceProvider(CrudProvider):
    """Inputs: `PersistentResourceInputs`. Further output: `asked_by`, the engine that changed it last."""

    declared = DECLARED
    names = ("persistent_resource_id",)
    readiness = gateway.READINESS

    def prepared(self, call: Call) -> dict[str, Any]:
        return with_own_id("persistent_resource_id", id_from, call.inputs, call)

    def identity(self, inputs: PersistentResourceInputs, key: str) -> Identity:
        id_ = inputs.persistent_resource_id
        return Identity(
            noun="persistent resource",
            field="persistent_resource_id",
            id=id_,
            place=f"{inputs.endpoint} {inputs.project} {inputs.location}",
            labels=(key_label(key),),
            where=f"project {inputs.project}, {inputs.location}",
            taken="Choose another persistent_resource_id. To manage the existing one, set adopt=True. To run "
            f'jobs on it only, give them its id: persistent_resource_id="{id_}"',
        )

    def diff(self, call: Call) -> Difference:
        old, new = DECLARED.decode(call.outputs), DECLARED.decode(call.inputs)
        if old.draft is None or new.draft is None:
            raise ValueError("a persistent resource's inputs cannot be read; please report this")
        found = {**effects_of_changes(old.draft, new.draft), **_unknown_changes(new.unknown)}
        moved = [
            name
            for name in IDENTITY
            if getattr(old.draft, name) != getattr(new.draft, name) or name in new.unknown
        ]
        replaces = [*moved, *(name for name, effect in found.items() if effect is Effect.REPLACE)]
        if not replaces and call.context.checked is not None:
            OPERATION.note_kept(call.id, call.context, call.outputs)
            if "resource_pools" in found and call.is_preview:
                name = new.draft.marks.get("resource") or new.draft.persistent_resource_id
                announce_resize(name, old, new, urn=call.urn)
        rebooted = old.draft.reboot_token != new.draft.reboot_token or "reboot_token" in new.unknown
        # Ids are unique in a project and location, and quota for a second set of machines may be missing.
        changed = [*moved, *found, *(["reboot_token"] if rebooted else ())]
        difference = Difference(
            changes=bool(changed),
            properties=property_changes(
                call.outputs, call.inputs, changed, replacing=replaces, effects=EFFECTS
            ),
            delete_before_replace=True,
        )
        return deletion_notes.continued(
            difference,
            call,
            lambda endpoint: _get_unless_deleting(endpoint, call.id),
            title=f"persistent resource {old.draft.persistent_resource_id}",
        )

    def create(self, call: Call) -> Created:
        raw = call.inputs
        inputs = DECLARED.read_inputs(raw)
        endpoint = endpoint_of(raw)
        name = full_name(inputs.project, inputs.location, inputs.persistent_resource_id)
        wire = to_wire(DECLARED.spec_of(inputs), ownership_labels=_labels_of(inputs, call.key))
        allowing = replace(endpoint, allow_unknown_types=inputs.allow_unknown_types)
        outputs = {**raw, "asked_by": OPERATION.engine}
        if inputs.adopt:
            live = _live_spec(self.existing(allowing, inputs, name), inputs)
            _update(allowing, name, live, inputs, call)
            OPERATION.note_made(name)
            print_line(f"persistent resource {inputs.persistent_resource_id}: adopted")
            deletion_notes.forget(name)
            return Created(id=name, outputs=outputs)

        def adopt(found: ResourceRecord) -> None:
            _adopt(allowing, name, found, inputs, wire, call)
            OPERATION.note_made(name)

        self.create_once(
            call,
            inputs,
            name,
            create=lambda: operations.create(
                allowing, inputs.persistent_resource_id, wire, timeout=call.timeout
            ),
            abandoned=lambda: _find_abandoned(endpoint, name, call.key),
            adopt=adopt,
        )
        return Created(id=name, outputs=outputs)

    def update(self, call: Call) -> Values:
        raw = call.inputs
        old, inputs, endpoint = (
            DECLARED.read_inputs(call.outputs),
            DECLARED.read_inputs(raw),
            endpoint_of(raw),
        )
        creation_notes.remove_others(call.id, call.key)
        record = gateway.get(endpoint, call.id)
        base = _update_base(record, DECLARED.spec_of(old), DECLARED.spec_of(inputs))
        _update(endpoint, call.id, base, inputs, call)
        # A running reboot was started by an interrupted deployment.
        if old.reboot_token != inputs.reboot_token and record.state is not ResourceState.REBOOTING:
            operations.reboot(endpoint, call.id, timeout=call.timeout)
            print_line(
                f"persistent resource {inputs.persistent_resource_id}: rebooting, because reboot_token "
                "changed"
            )
        return {**raw, "asked_by": OPERATION.engine}

    def delete(self, call: Call) -> None:
        raw = call.outputs
        if OPERATION.made(call.id) or OPERATION.belongs_to_another_entry(call.id, raw):
            return  # another resource with the same id adopted it
        creation_notes.remove_with(call.id)
        endpoint, resource_id = endpoint_of(raw), raw["persistent_resource_id"]
        try:
            record = gateway.get(endpoint, call.id)
            if record.state is not ResourceState.STOPPING:
                if used := _used_replica_count(record):
                    print_line(
                        f"persistent resource {resource_id}: its jobs are cancelled; {used} machines are "
                        "in use"
                    )
                deletion_notes.note(call.id)
                operations.begin_deletion(endpoint, call.id, timeout=call.timeout)
        except NotFound:
            return
        if not operations.wait_for_deletion(endpoint, call.id, timeout=call.timeout):
            print_line(f"persistent resource {resource_id}: still being deleted; the service finishes it")

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        record = _get_unless_deleting(endpoint, id_)
        if not has_key(record.labels, key):
            raise NotFound(f"persistent resource {id_} is somebody else's", resource=id_, endpoint=endpoint)
        if _used_replica_count(record):
            return False
        operations.begin_deletion(endpoint, id_)
        return True


def _adopt(
    endpoint: Endpoint,
    name: str,
    found: ResourceRecord,
    inputs: PersistentResourceInputs,
    wire: Mapping[str, Any],
    call: Call,
) -> None:
    """Turn the resource of an interrupted deployment into the declared one: update it, or create it again."""
    left = f"persistent resource {inputs.persistent_resource_id}: "
    if _can_be_updated(found, inputs):
        _update(endpoint, name, _live_spec(found, inputs), inputs, call)
        print_line(f"{left}adopted; an interrupted deployment of this stack created it")
        return
    print_line(
        f"{left}an interrupted deployment of this stack created it with a different spec; it is deleted "
        "and created again"
    )
    operations.begin_deletion(endpoint, name, timeout=call.timeout)
    operations.create(endpoint, inputs.persistent_resource_id, wire, timeout=call.timeout)


def _update(
    endpoint: Endpoint, name: str, old: PersistentResource, inputs: PersistentResourceInputs, call: Call
) -> None:
    labels = _labels_of(inputs, call.key)
    operations.update(
        endpoint, name, old, DECLARED.spec_of(inputs), ownership_labels=labels, timeout=call.timeout
    )


def _find_abandoned(endpoint: Endpoint, name: str, key: str) -> ResourceRecord | None:
    """Return the resource that an interrupted deployment of this declaration left behind, or None.

    It must have this resource's key, and no job may use it.
    """
    try:
        record = gateway.get(endpoint, name)
    except CloudError:
        return None
    is_ours = has_key(record.labels, key)
    is_unused = record.state is not ResourceState.STOPPING and not _used_replica_count(record)
    return record if is_ours and is_unused else None


def _labels_of(inputs: PersistentResourceInputs, key: str) -> dict[str, str]:
    """Return the labels that a persistent resource has besides the declared ones."""
    return {**ownership_labels(inputs.marks), **key_label(key)}


def _can_be_updated(record: ResourceRecord, inputs: PersistentResourceInputs) -> bool:
    return (
        Effect.REPLACE
        not in effects_of_changes(_live_spec(record, inputs), DECLARED.spec_of(inputs)).values()
    )


def _update_base(
    record: ResourceRecord, old: PersistentResource, new: PersistentResource
) -> PersistentResource:
    """Return the spec that an update starts from: the live one, with the recorded sizes of autoscaled pools.

    The live spec may differ from the state if an interrupted deployment started another update. If it cannot
    be updated in place, the recorded spec is returned.
    """
    live = as_declared(from_wire(record.wire), new)
    if len(live.resource_pools) != len(old.resource_pools):
        return old
    pools = tuple(
        was if was.is_autoscaled else pool
        for was, pool in zip(old.resource_pools, live.resource_pools, strict=True)
    )
    live = replace(live, resource_pools=pools)
    return old if Effect.REPLACE in effects_of_changes(live, new).values() else live


def _used_replica_count(record: ResourceRecord) -> int:
    return sum(int(pool.get("usedReplicaCount", 0)) for pool in record.wire.get("resourcePools", ()))


def _unknown_changes(unknown: Collection[str]) -> dict[str, Effect]:
    """Return the possible effect of each field that has values which are not known yet."""
    found: dict[str, Effect] = {}
    for path in unknown:
        name = path.partition(".")[0].partition("[")[0]
        if name not in DECLARED.spec_fields:
            continue
        in_place = name in ("display_name", "labels") or path.endswith("].replica_count")
        if found.get(name) is not Effect.REPLACE:
            found[name] = Effect.UPDATE if in_place else Effect.REPLACE
    return found
