"""The providers of `StagedPackage` and `StagedFile`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pulumi.dynamic import CheckResult, CreateResult

from pulumi_vertex_training.kinds.staged import spec as staged_object
from pulumi_vertex_training.kinds.staged import staging
from pulumi_vertex_training.kinds.staged.spec import StagedObjectSpec
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.plugin.process import say
from pulumi_vertex_training.plugin.provider import clean, complete, failures, inbound, outbound, warnings
from vertex_training.fields.decode import UNKNOWN, decode

if TYPE_CHECKING:
    from pulumi_vertex_training.packaging.digest import FileDigest
    from pulumi_vertex_training.packaging.package import Package

CONTENT_TYPE = "application/octet-stream"


@dataclass(frozen=True, kw_only=True)
class PackageInputs(staging.Place):
    """`requirements` are for a script or a folder; `extra_files` maps paths inside to what is added.
    `format` is absent for an sdist, as in the states of the first versions."""

    package_name: str | None = None
    version: str | None = None
    requirements: tuple[str, ...] = ()
    extra_files: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    format: Literal["sdist", "wheel"] | None = None


class StagedPackageProvider(staging.StagedProvider):
    """Inputs: `PackageInputs`, and what check derives from the source, `python_module` among it."""

    @clean
    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        decoded = decode(PackageInputs, inbound(news))
        if decoded.spec is None:
            return CheckResult(news, failures(decoded.problems))
        inputs = complete(decoded.spec, unknown=decoded.unknown)
        if decoded.unknown:
            derived: dict[str, Any] = dict.fromkeys((*staging.DERIVED, "python_module"), UNKNOWN)
            return CheckResult(outbound({**inputs, **derived}), [])
        try:
            package = _package(decoded.spec)
        except PackagingError as error:
            return CheckResult(news, failures(error.problems))
        for line in warnings(decoded.spec.source, package.problems):
            say(line)
        spec = _package_object(decoded.spec, package)
        if problems := failures(staged_object.validate(spec)):
            return CheckResult(news, problems)
        derived = {**staging.derived(spec), "python_module": package.python_module}
        return CheckResult(outbound({**inputs, **derived}), [])

    @clean
    def create(self, props: dict[str, Any]) -> CreateResult:
        raw = inbound(props)
        known = {name: raw[name] for name in PackageInputs.__dataclass_fields__ if name in raw}
        inputs = decode(PackageInputs, known).spec
        if inputs is None:
            raise ValueError("a package reached create with inputs that check refuses; please report this")
        package = _package(inputs)
        with tempfile.TemporaryDirectory() as folder:
            facts = staging.send(raw, package.save(Path(folder)), package.sha256)
        return CreateResult(raw["uri"], outbound({**raw, **facts}))


def _package(inputs: PackageInputs) -> Package:
    # Here, because a program that only declares resources need not load what packs them.
    from pulumi_vertex_training.packaging.build import build_package

    return build_package(
        Path(inputs.source),
        name=inputs.package_name,
        version=inputs.version,
        requirements=inputs.requirements,
        extra_files={inside: Path(outside) for inside, outside in inputs.extra_files.items()},
        exclude=inputs.exclude,
        format=inputs.format or "sdist",
    )


def _package_object(inputs: PackageInputs, package: Package) -> StagedObjectSpec:
    name = staged_object.object_name(inputs.prefix, sha256=package.sha256, file_name=package.file_name)
    return StagedObjectSpec(
        bucket=inputs.bucket,
        object_name=name,
        sha256=package.sha256,
        size=package.size,
        content_type="application/gzip" if package.file_name.endswith(".gz") else "application/zip",
    )


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
            spec = _file_object(decoded.spec)
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


def _file_object(place: staging.Place) -> StagedObjectSpec:
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
    from pulumi_vertex_training.packaging.digest import file_digest

    return file_digest(source)
