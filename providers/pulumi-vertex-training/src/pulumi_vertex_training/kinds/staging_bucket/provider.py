"""The provider of `StagingBucket`: settings change in place, fixed properties replace the bucket."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, FailedPrecondition, NotFound
from pulumi_vertex_training.cloud.objects import STAGED_KEY
from pulumi_vertex_training.core.autonaming import derived_name, with_own_id
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Imported, Values
from pulumi_vertex_training.core.connection import endpoint_of
from pulumi_vertex_training.core.crud import labels_of, require_equal, require_no_other_owner
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.identity import conflicts
from pulumi_vertex_training.core.identity.conflicts import Identity
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.provider import Failure, Provider, is_unknown, warnings
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.settings import EndpointKind, Target, project_problems
from pulumi_vertex_training.kinds.staging_bucket import gateway, interrupted, rules, wire
from pulumi_vertex_training.kinds.staging_bucket import spec as bucket_spec
from pulumi_vertex_training.kinds.staging_bucket.difference import LOCK_WARNING, compare_buckets, lock_refusal
from pulumi_vertex_training.kinds.staging_bucket.emptying import HeldError, RetainedError
from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec
from pulumi_vertex_training.runs.adoption import AdoptionError
from vertex_training.fields.decode import UNKNOWN, Decoded, Unknown, decode, encode
from vertex_training.fields.labels import key_label
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.problems import Problem

SPEC_FIELDS = tuple(item.name for item in fields(BucketSpec))
EXPLICIT = (
    "storage_class",
    "uniform_bucket_level_access",
    "public_access_prevention",
    "versioning",
    "force_destroy",
)
"""Fields that a state has even with their default value; other fields are left out then."""

_TARGET_FIELDS = ("endpoint", "project")
_DAY = 24 * 60 * 60
_UPDATE = "`pulumi up --target '**:StagingBucket::*'`"
"""Updates the buckets alone, and runs no job again that a destroy has deleted."""


@dataclass(frozen=True, kw_only=True)
class BucketInputs(BucketSpec):
    """A bucket's inputs in Pulumi's state.

    `marks` identify the declaration if the name is derived from them. `adopt` adopts an existing bucket
    when the resource is created. A diff ignores both.
    """

    endpoint: str
    project: str
    marks: Mapping[str, str] = field(default_factory=dict)
    adopt: bool = False


class StagingBucketProvider(Provider):
    """Inputs: `BucketInputs`. Further output: `url`."""

    names = ("name",)

    def check(self, call: Call) -> Checked:
        decoded = _decode(_with_name(call)).then(
            bucket_spec.normalise, lambda inputs: [*rules.validate(inputs), *project_problems(inputs.project)]
        )
        same: Sequence[Problem] = ()
        if decoded.draft is not None and not {"name", "endpoint"} & {*decoded.unknown, *decoded.damaged}:
            same = list(conflicts.problems(_identity(decoded.draft, call.key), call))
        inputs = decoded.spec
        if inputs is None or same:
            return Checked(problems=[*_problems_with_name_origin(decoded), *same])
        for line in warnings(f"bucket {inputs.name}", decoded.problems):
            OPERATION.print_once(line)
        if not call.old_inputs and wire.sets_lock(None, inputs):
            OPERATION.print_once(f"bucket {inputs.name}: {LOCK_WARNING}")
        return Checked(inputs=_with_url(_recorded(inputs, decoded.unknown)))

    def diff(self, call: Call) -> Difference:
        was, will = _decode(call.outputs), _decode(call.inputs)
        old, new = was.draft, will.draft
        if old is None or new is None:
            raise ValueError("a bucket's recorded inputs cannot be read; please report this")
        difference = compare_buckets(
            _spec_of(old),
            _spec_of(new),
            unknown={path for path in will.unknown if path not in _TARGET_FIELDS},
            moved={
                name: f"{getattr(old, name)} -> {NOT_KNOWN if name in will.unknown else getattr(new, name)}"
                for name in _TARGET_FIELDS
                if name in will.unknown or getattr(old, name) != getattr(new, name)
            },
        )
        is_checked = call.context.checked is not None
        if difference.summary and is_checked:
            refusal = lock_refusal(old, new)
            if (
                refusal
                and not difference.replaces
                and "retention_policy" not in map(_top_field, will.unknown)
            ):
                raise Failure(f"bucket {old.name}: {refusal}.")
            OPERATION.print_once(f"bucket {old.name}: {difference.summary}")
        # Bucket names are unique: the old bucket must go before a new one of the same name can be created.
        same_name = bool(difference.replaces) and old.name == new.name and "name" not in will.unknown
        known = not {_top_field(path) for path in will.unknown}.intersection(difference.replaces)
        if same_name and known and not old.force_destroy and is_checked:
            _require_replaceable(old)
        if not difference.replaces and is_checked:
            OPERATION.note_kept(call.id, call.context, call.outputs)
        found = Difference(
            changes=bool(difference.summary),
            properties=property_changes(
                call.outputs,
                call.inputs,
                difference.fields,
                replacing=difference.replaces,
                effects=bucket_spec.EFFECTS,
            ),
            delete_before_replace=same_name,
        )
        return deletion_notes.continued(
            found, call, lambda endpoint: gateway.get(endpoint, call.id), title=f"bucket {call.id}"
        )

    def create(self, call: Call) -> Created:
        raw = call.inputs
        spec, endpoint = _read_spec(raw), endpoint_of(raw)
        if raw.get("adopt"):
            _adopt(endpoint, spec)
            OPERATION.note_made(spec.name)
            deletion_notes.forget(spec.name)
            return Created(id=spec.name, outputs=raw)
        with creation_notes.noted(
            self, raw, spec.name, key=call.key, title=f"bucket {spec.name}", is_exclusive=True
        ):
            record = interrupted.create_or_adopt(endpoint, spec, call.key)
            OPERATION.note_made(spec.name)
            if interrupted.needs_lock(record, spec):
                try:
                    gateway.lock_retention_policy(
                        endpoint, spec.name, if_metageneration_match=record.metageneration
                    )
                except CloudError:
                    # No state has this bucket, and it is not as declared. It is empty, so delete it.
                    gateway.delete(endpoint, spec.name)
                    raise
        deletion_notes.forget(spec.name)
        return Created(id=spec.name, outputs=raw)

    def update(self, call: Call) -> Values:
        raw = call.inputs
        old, new, endpoint = _read_spec(call.outputs), _read_spec(raw), endpoint_of(raw)
        creation_notes.remove_others(call.id, call.key)
        record = None
        if change := wire.patch(old, new):
            record = gateway.patch(endpoint, call.id, change)
        if wire.sets_lock(old, new):
            record = record or gateway.get(endpoint, call.id)
            gateway.lock_retention_policy(endpoint, call.id, if_metageneration_match=record.metageneration)
        return raw

    def read(self, call: Call) -> Found | None:
        raw = call.outputs
        try:
            record = gateway.get(endpoint_of(raw), call.id)
        except NotFound:
            return None
        declared = _decode(raw).draft
        if declared is None:
            raise ValueError("a bucket's recorded inputs cannot be read; please report this")
        spec = _spec_of(declared)
        live = wire.as_live(spec, record.wire)
        if live is spec:
            return Found(outputs=raw, inputs=raw)
        values = {name: getattr(live, name) for name in SPEC_FIELDS}
        inputs = {
            **{name: value for name, value in raw.items() if name not in SPEC_FIELDS},
            **_recorded(replace(declared, **values), frozenset()),
        }
        return Found(outputs=inputs, inputs=inputs)

    def imported(self, call: Call) -> Imported | None:
        try:
            record = gateway.get(endpoint_of(call.inputs), call.id)
        except NotFound:
            return None
        require_no_other_owner(f"bucket {call.id}", record.wire.get("labels") or {}, labels_of(call))
        return Imported(id=call.id, inputs={**call.inputs, **encode(wire.from_wire(record.wire))})

    def delete(self, call: Call) -> None:
        if OPERATION.made(call.id) or OPERATION.belongs_to_another_entry(call.id):
            return  # `up --replace` adopted the empty bucket: it is its own replacement
        creation_notes.remove_with(call.id)
        raw = call.outputs
        force, endpoint = bool(raw.get("force_destroy")), endpoint_of(raw)
        reported: list[int] = []

        def tell(count: int) -> None:
            reported.append(count)
            print_line(f"bucket {call.id}: deleted {count} object{'' if count == 1 else 's'}")

        creation_notes.remove_inside(
            f"gs://{call.id}/", functools.partial(gateway.labels_of, endpoint, call.id)
        )
        deletion_notes.note(call.id)
        try:
            notice = soft_delete_notice(gateway.get(endpoint, call.id).wire) if force else ""
            gateway.delete(
                endpoint, call.id, force=force, release_holds=bool(raw.get("release_holds")), tell=tell
            )
        except NotFound:
            return
        except HeldError as error:
            raise Failure(
                f"{error} Release the holds, or set release_holds=True with force_destroy=True, run "
                "`pulumi up`, and try again."
            ) from None
        except RetainedError as error:
            raise Failure(
                f"{error} Try again after that. If the retention policy is not locked, you can also "
                "remove retention_policy, run `pulumi up`, and try again."
            ) from None
        except FailedPrecondition as error:
            if force:
                raise
            raise FailedPrecondition(
                f"bucket {call.id} is not empty. Set force_destroy=True, run {_UPDATE}, and try again: its "
                "objects are then deleted too.",
                code=error.code,
            ) from error
        if reported and notice and not endpoint.is_emulator:
            print_line(f"bucket {call.id}: {notice}")

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        return interrupted.remove(endpoint, id_, key)


def _identity(inputs: BucketInputs, key: str) -> Identity:
    return Identity(
        noun="bucket",
        field="name",
        id=inputs.name,
        place=inputs.endpoint,
        labels=(key_label(key),),
        taken="bucket names are global, and such a bucket exists. Choose another name. To manage the "
        "existing bucket, set adopt=True. To use it only, pass its name instead of declaring it",
    )


def _adopt(endpoint: Endpoint, spec: BucketSpec) -> None:
    """Check that the existing bucket equals its declaration. Raises AdoptionError."""
    try:
        live = wire.as_live(spec, gateway.get(endpoint, spec.name).wire)
    except NotFound as error:
        raise AdoptionError(
            f"there is no bucket {spec.name} to adopt ({endpoint}). Correct its name, or leave adopt out to "
            "create it."
        ) from error
    require_equal(f"bucket {spec.name}", live, spec)
    print_line(f"bucket {spec.name}: adopted with its objects")


def _require_replaceable(old: BucketInputs) -> None:
    """Raise Failure if the bucket to be replaced is not empty.

    Without this check in the preview, the deployment would cancel the jobs that write to the bucket before
    its deletion fails. Staged objects do not count: their resources delete them. The check is skipped if the
    service does not answer.
    """

    def first_object(endpoint: Endpoint) -> str | None:
        found = objects.list_objects(endpoint, old.name)
        return next((one.name for one in found if STAGED_KEY not in one.metadata), None)

    remaining = QUERIES.ask_endpoint(
        Target(cast(EndpointKind, old.endpoint), old.project, old.location),
        first_object,
        unknown=f"whether bucket {old.name} is empty",
    )
    if remaining is not None:
        raise Failure(
            f"bucket {old.name} would be replaced, but is not empty: it has {remaining}. Empty it, or set "
            "force_destroy=True, run `pulumi up`, and try again: its objects are then deleted too."
        )


def _with_name(call: Call) -> dict[str, Any]:
    """Return the inputs of a check with the bucket's name, derived if none is declared."""
    news = call.inputs
    if news.get("name") is not None or not news.get("marks"):
        return news

    def derive(marks: Mapping[str, str]) -> str | Unknown:
        if is_unknown(news.get("project")):
            return UNKNOWN
        project = str(news.get("project") or "")
        return derived_name(project, marks["project"], marks["stack"], marks["resource"])

    return with_own_id("name", derive, news, call)


def _problems_with_name_origin(decoded: Decoded[BucketInputs]) -> list[Problem]:
    """Return the problems. Those of a derived name explain where the name comes from."""
    if decoded.draft is None or not decoded.draft.marks:
        return list(decoded.problems)
    origin = (
        f"{decoded.draft.name} is derived from the names of project, program, stack and resource; to choose "
        "another name, set name="
    )
    return [
        replace(found, message=f"{found.message} ({origin})") if found.path == "name" else found
        for found in decoded.problems
    ]


def _decode(props: Mapping[str, Any]) -> Decoded[BucketInputs]:
    """Decode inputs or recorded outputs to the normal form, without checking any rule."""
    known = {name: value for name, value in props.items() if name != "url"}
    return decode(BucketInputs, known).then(bucket_spec.normalise, lambda _: ())


def _read_spec(props: Mapping[str, Any]) -> BucketSpec:
    inputs = _decode(props).draft
    if inputs is None:
        raise ValueError("a bucket's inputs cannot be read; please report this")
    return _spec_of(inputs)


def _spec_of(inputs: BucketInputs) -> BucketSpec:
    return BucketSpec(**{name: getattr(inputs, name) for name in SPEC_FIELDS})


def _recorded(inputs: BucketInputs, unknown: Collection[str]) -> dict[str, Any]:
    """Return the inputs as the state has them."""
    plain = encode(inputs, unknown=unknown)
    return {**plain, **{name: getattr(inputs, name) for name in EXPLICIT if name not in plain}}


def _with_url(inputs: dict[str, Any]) -> dict[str, Any]:
    name = inputs["name"]
    return {**inputs, "url": name if is_unknown(name) else f"gs://{name}"}


def soft_delete_notice(wire: Mapping[str, Any]) -> str:
    """Return a sentence on how long soft delete keeps deleted objects; empty if it is off."""
    policy = wire.get("softDeletePolicy") or {}
    seconds = int(policy.get("retentionDurationSeconds") or 0)
    if not seconds:
        return ""
    days = f"{seconds / _DAY:g} day{'' if seconds == _DAY else 's'}"
    return (
        f"soft delete keeps the objects for {days}: until then they are billed, and you can restore them "
        "with the bucket"
    )


def _top_field(path: str) -> str:
    return path.partition(".")[0]
