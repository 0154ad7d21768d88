"""The provider of `StagedFile`: one file, as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulumi.dynamic import CheckResult, CreateResult

from pulumi_vertex_training.kinds.staged import spec as staged_object
from pulumi_vertex_training.kinds.staged import staging
from pulumi_vertex_training.kinds.staged.spec import StagedObjectSpec
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.plugin.provider import clean, complete, failures, inbound, outbound
from vertex_training.fields.decode import UNKNOWN, decode

if TYPE_CHECKING:
    from pulumi_vertex_training.packaging.package import FileDigest

CONTENT_TYPE = "application/octet-stream"


class StagedFileProvider(staging.StagedProvider):
    """Inputs: `staging.Place`, and what check derives from the file."""

    @clean
    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        decoded = decode(staging.Place, inbound(news))
        if decoded.spec is None:
            return CheckResult(news, failures(decoded.problems))
        inputs = complete(decoded.spec, unknown=decoded.unknown)
        if decoded.unknown:
            return CheckResult(outbound({**inputs, **dict.fromkeys(staging.DERIVED, UNKNOWN)}), [])
        try:
            spec = _object(decoded.spec)
        except PackagingError as error:
            return CheckResult(news, failures(error.problems))
        if problems := failures(staged_object.validate(spec)):
            return CheckResult(news, problems)
        return CheckResult(outbound({**inputs, **staging.derived(spec)}), [])

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        raw = inbound(props)
        source = Path(raw["source"])
        facts = staging.send(raw, source, _digest(source).sha256)
        return CreateResult(raw["uri"], outbound({**raw, **facts}))


def _object(place: staging.Place) -> StagedObjectSpec:
    source = Path(place.source)
    digest = _digest(source)
    name = staged_object.object_name(place.prefix, sha256=digest.sha256, file_name=source.name)
    return StagedObjectSpec(
        bucket=place.bucket,
        object_name=name,
        sha256=digest.sha256,
        size=digest.size,
        content_type=CONTENT_TYPE,
    )


def _digest(source: Path) -> FileDigest:
    # Here, because a program that only declares resources need not load what reads them.
    from pulumi_vertex_training.packaging.package import file_digest

    return file_digest(source)
