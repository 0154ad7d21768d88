"""The provider of `StagingBucket`: settings change in place, name and location do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from pulumi_vertex_training.adapter import (
    Provider,
    clean,
    complete,
    failures,
    inbound,
    is_unknown,
    outbound,
    warnings,
)
from pulumi_vertex_training.connection import endpoint_of
from pulumi_vertex_training.plugin import say
from pulumi_vertex_training.settings import project_problems
from vertex_training.cloud import buckets
from vertex_training.cloud.errors import AlreadyExists, FailedPrecondition, NotFound
from vertex_training.specs import bucket, bucket_wire
from vertex_training.specs.bucket import BucketSpec
from vertex_training.specs.decode import Decoded, decode
from vertex_training.specs.effects import Effect

SPEC_FIELDS = tuple(item.name for item in fields(BucketSpec))
REPLACING = (
    "endpoint",
    "project",
    *(name for name, entry in bucket.EFFECTS.items() if entry.effect is Effect.REPLACE),
)


@dataclass(frozen=True, kw_only=True)
class BucketInputs(BucketSpec):
    """A bucket's inputs in Pulumi's state."""

    endpoint: str
    project: str


class StagingBucketProvider(Provider):
    """Inputs: `BucketInputs`; output besides: `url`."""

    @clean
    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        decoded = _decode(inbound(news))
        if decoded.spec is None:
            return CheckResult(news, failures(decoded.problems))
        for line in warnings(f"bucket {decoded.spec.name}", decoded.problems):
            say(line)
        inputs = complete(decoded.spec, unknown=decoded.unknown)
        return CheckResult(outbound({**inputs, "url": _url(inputs)}), [])

    @clean
    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        old, new = _canonical(inbound(_olds)), _canonical(inbound(_news))
        names = [item.name for item in fields(BucketInputs)]
        changed = [name for name in names if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        replaces = [name for name in changed if name in REPLACING]
        # A bucket's name exists once: the old one has to go before a new one of the same name can be made.
        same_name = bool(replaces) and old.get("name") == new.get("name")
        return DiffResult(changes=bool(changed), replaces=replaces, delete_before_replace=same_name)

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        raw = inbound(props)
        spec = _spec(raw)
        try:
            buckets.create(endpoint_of(raw), bucket_wire.to_wire(spec))
        except AlreadyExists as error:
            raise AlreadyExists(
                f"bucket {spec.name} is taken: bucket names are one space for everybody. Choose another. "
                f"If it is yours, left behind by an interrupted deployment, delete it first. ({error})",
                code=error.code,
            ) from error
        return CreateResult(spec.name, outbound(raw))

    @clean
    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> UpdateResult:
        raw = inbound(_news)
        change = bucket_wire.patch(_spec(inbound(_olds)), _spec(raw))
        if change:
            buckets.patch(endpoint_of(raw), _id, change)
        return UpdateResult(outbound(raw))

    @clean
    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        raw = inbound(props)
        try:
            record = buckets.get(endpoint_of(raw), id_)
        except NotFound:
            return ReadResult(None, {})
        live = bucket_wire.from_wire(record.wire, force_destroy=bool(raw.get("force_destroy")))
        inputs = {**raw, **complete(live)}
        for name in SPEC_FIELDS:
            if name in raw and name not in complete(live):
                del inputs[name]
        return ReadResult(id_, outbound(inputs), outbound(inputs))

    @clean
    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        raw = inbound(_props)
        force = bool(raw.get("force_destroy"))
        try:
            buckets.delete(
                endpoint_of(raw), _id, force=force, tell=lambda n: say(f"bucket {_id}: deleted {n} objects")
            )
        except NotFound:
            return
        except FailedPrecondition as error:
            raise FailedPrecondition(
                f"bucket {_id} is not empty. Empty it, or set force_destroy=True, `pulumi up`, try again: "
                "it is deleted with everything in it then.",
                code=error.code,
            ) from error


def _decode(props: Mapping[str, Any]) -> Decoded[BucketInputs]:
    known = {name: value for name, value in props.items() if name != "url"}
    return decode(BucketInputs, known).then(
        bucket.normalise, lambda inputs: [*bucket.validate(inputs), *project_problems(inputs.project)]
    )


def _canonical(props: Mapping[str, Any]) -> dict[str, Any]:
    decoded = _decode(props)
    return dict(props) if decoded.draft is None else complete(decoded.draft, unknown=decoded.unknown)


def _spec(props: Mapping[str, Any]) -> BucketSpec:
    inputs = _decode(props).draft
    if inputs is None:
        raise ValueError("a bucket's inputs cannot be read; please report this")
    return BucketSpec(**{name: getattr(inputs, name) for name in SPEC_FIELDS})


def _url(inputs: Mapping[str, Any]) -> Any:
    name = inputs["name"]
    return name if is_unknown(name) else f"gs://{name}"
