"""The providers of `StagedPackage` and `StagedFile`."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.autonaming import object_prefix
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.promotion import entries as promotion
from pulumi_vertex_training.core.promotion.entries import PromotedPackage
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.provider import Provider, complete, is_unknown, warnings
from pulumi_vertex_training.core.running.package_modules import PackageModules, StagedModules
from pulumi_vertex_training.kinds.staged import operations
from pulumi_vertex_training.kinds.staged import spec as object_spec
from pulumi_vertex_training.kinds.staged.manifest import MANIFEST, FolderFile, packed
from pulumi_vertex_training.kinds.staged.spec import StagedObjectSpec
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.fields.decode import UNKNOWN, Decoded, decode
from vertex_training.findings.problems import Problem, errors
from vertex_training.job.rules.bucket_names import bucket_name_faults

if TYPE_CHECKING:
    from pulumi_vertex_training.packaging.package import FileDigest, Package

CONTENT_TYPE = "application/octet-stream"

REPLACING = ("endpoint", "bucket", "object_name", "sha256")
"""Inputs whose change replaces the object. The path of the source is not among them."""
UPDATING = (promotion.INPUT,)


@dataclass(frozen=True, kw_only=True)
class StagedInputs:
    """The inputs of every staged object. `source` is relative to the Pulumi program's folder."""

    endpoint: str
    project: str
    location: str
    bucket: str
    source: str
    prefix: str = ""


Inputs = TypeVar("Inputs", bound=StagedInputs)
Content = TypeVar("Content")

_PLACE = {field.name for field in dataclasses.fields(StagedInputs)} - {"source"}
"""Inputs that say nothing about the content."""


def decoded_inputs(cls: type[Inputs], inputs: Mapping[str, Any]) -> Decoded[Inputs]:
    """Decode the inputs, and check the name of the bucket if it is known."""
    given = {name: value for name, value in inputs.items() if name != promotion.INPUT}
    return decode(cls, given).then(
        lambda inputs: inputs,
        lambda inputs: [Problem(path="bucket", message=fault) for fault in bucket_name_faults(inputs.bucket)],
    )


def made_from(
    decoded: Decoded[Inputs], make: Callable[[Inputs], Content]
) -> tuple[Content | None, tuple[Problem, ...]]:
    """Make the content of the inputs as far as they are known and right, and return its findings.

    With a wrong or unknown input of the content, only the findings about the source count: the others may
    follow from that input. Raises no PackagingError.
    """
    gaps = {re.split(r"[.\[]", path)[0] for path in decoded.unknown | decoded.damaged} - _PLACE
    if decoded.draft is None or "source" in gaps:
        return None, ()
    known = {
        field.name: getattr(decoded.draft, field.name)
        for field in dataclasses.fields(decoded.draft)
        if field.name not in gaps
    }
    try:
        made = make(type(decoded.draft)(**known))
    except PackagingError as error:
        return None, tuple(each for each in error.problems if not gaps or each.path == "source")
    return made, ()


class StagedProvider(Provider):
    """Base of the providers of staged objects; subclasses add check and create."""

    names = ("bucket", "source")

    def diff(self, call: Call) -> Difference:
        old, new = call.outputs, call.inputs
        replaces = [name for name in REPLACING if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        if not replaces and call.context.checked is not None:
            OPERATION.note_made(call.id)  # a replacement that a killed deployment began has the same object
        names = [*replaces, *(name for name in UPDATING if old.get(name) != new.get(name))]
        found = Difference(
            changes=bool(names), properties=property_changes(old, new, names, replacing=replaces)
        )
        return deletion_notes.continued(
            found,
            call,
            lambda endpoint: objects.find(endpoint, old["bucket"], old["object_name"]),
            title=call.id,
        )

    def update(self, call: Call) -> Values:
        creation_notes.remove_others(call.id, call.key)
        kept = {name: value for name, value in call.outputs.items() if name != promotion.INPUT}
        return {**kept, **call.inputs}

    def read(self, call: Call) -> Found | None:
        return Found(outputs=call.outputs) if operations.exists_unchanged(call.outputs) else None

    def delete(self, call: Call) -> None:
        operations.delete_object(call.outputs)

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        return operations.delete_interrupted(endpoint, id_, key)


def derived_inputs(spec: StagedObjectSpec) -> dict[str, Any]:
    """Return the inputs that check derives from the object's spec, known in a preview."""
    return {
        "object_name": spec.object_name,
        "sha256": spec.sha256,
        "size": spec.size,
        "content_type": spec.content_type,
        "uri": str(spec.uri),
        "path": spec.uri.mounted,
    }


def _noted(provider: StagedProvider, call: Call) -> AbstractContextManager[None]:
    """Return a context manager that notes the creation of the object."""
    uri = call.inputs["uri"]
    return creation_notes.noted(provider, call.inputs, uri, key=call.key, title=uri)


DERIVED = ("object_name", "sha256", "size", "content_type", "uri", "path")


@dataclass(frozen=True, kw_only=True)
class PackageInputs(StagedInputs):
    """The inputs of a staged package.

    `requirements` are for a script or a folder. `extra_files` maps paths in the package to files or folders
    to add; `vertex_cluster` adds that package. `format` None is a wheel, or an sdist if only a build can make
    the wheel.
    """

    package_name: str | None = None
    version: str | None = None
    requirements: tuple[str, ...] = ()
    extra_files: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    format: Literal["sdist", "wheel"] | None = None
    vertex_cluster: bool = False


class StagedPackageProvider(StagedProvider):
    """Inputs: `PackageInputs`, and those that check derives from the source, such as `python_module`."""

    def defaults(self, resource: str) -> Values:
        return {"prefix": f"packages/{object_prefix(resource)}"}

    def check(self, call: Call) -> Checked:
        decoded = decoded_inputs(PackageInputs, call.inputs)
        if (found := promotion.of_inputs(PromotedPackage, call.inputs)) is not None:
            return _check_promoted(decoded, found, call.old_inputs)
        package, problems = made_from(decoded, _package)
        if decoded.spec is None or errors(problems):
            return Checked(problems=[*decoded.problems, *problems])
        inputs = complete(decoded.spec, unknown=decoded.unknown)
        if decoded.unknown or package is None:
            derived: dict[str, Any] = dict.fromkeys((*DERIVED, "python_module"), UNKNOWN)
            return Checked(inputs={**inputs, **derived})
        for line in warnings(decoded.spec.source, package.problems):
            print_line(line)
        spec = package_object(
            decoded.spec, file_name=package.file_name, sha256=package.sha256, size=package.size
        )
        if faults := errors(object_spec.validate(spec)):
            return Checked(problems=faults)
        if package.kind != "built" and package.file_name.endswith(".whl"):
            # Only a build tells the modules of other packages for sure.
            own = [name for name in package.python_modules if name.partition(".")[0] != "vertex_cluster"]
            modules = PackageModules(modules=own, requirements=package.requirements)
            OPERATION.part(StagedModules)[str(spec.uri)] = modules
        derived = {**derived_inputs(spec), "python_module": package.python_module or ""}
        return Checked(inputs={**inputs, **derived, **_manifest(package)})

    def create(self, call: Call) -> Created:
        raw = call.inputs
        known = {name: raw[name] for name in PackageInputs.__dataclass_fields__ if name in raw}
        inputs = decode(PackageInputs, known).spec
        if inputs is None:
            raise ValueError("create received inputs of a package that check rejects; please report this")
        if (promoted := promotion.entry_of(PromotedPackage, raw)) is not None:
            facts = operations.copy_promoted(raw, promoted)
            return Created(id=raw["uri"], outputs={**raw, **facts})
        package = _package(inputs)
        with tempfile.TemporaryDirectory() as folder, _noted(self, call):
            facts = operations.upload(raw, package.save(Path(folder)), package.sha256, call.key)
        return Created(id=raw["uri"], outputs={**raw, **facts})


def _package(inputs: PackageInputs) -> Package:
    # Imported here: a program that only declares resources does not need to load packaging.
    from pulumi_vertex_training.packaging.build import build_package
    from pulumi_vertex_training.packaging.files import check_links

    check_links(Path.cwd(), Path(inputs.source), *map(Path, inputs.extra_files.values()))
    return build_package(
        Path(inputs.source),
        name=inputs.package_name,
        version=inputs.version,
        requirements=inputs.requirements,
        extra_files={inside: Path(outside) for inside, outside in inputs.extra_files.items()},
        exclude=inputs.exclude,
        format=inputs.format,
        vertex_cluster=inputs.vertex_cluster,
    )


def _manifest(package: Package) -> dict[str, str]:
    """Return the input that lists the files of the source, without generated ones; {} for a finished file."""
    if isinstance(package.content, Path):
        return {}
    files = (
        FolderFile(path=one.path, size=one.size, crc32c=f"{zlib.crc32(one.content.read_bytes()):08x}")
        for one in package.content
        if isinstance(one.content, Path)
    )
    return {MANIFEST: packed(files)}


def package_object(inputs: PackageInputs, *, file_name: str, sha256: str, size: int) -> StagedObjectSpec:
    """Return the spec of the object with a package."""
    return StagedObjectSpec(
        bucket=inputs.bucket,
        object_name=object_spec.object_name(inputs.prefix, sha256=sha256, file_name=file_name),
        sha256=sha256,
        size=size,
        content_type="application/gzip" if file_name.endswith(".gz") else "application/zip",
    )


def _check_promoted(
    decoded: Decoded[PackageInputs], found: Decoded[PromotedPackage], olds: Mapping[str, Any]
) -> Checked:
    """Check a promoted package: no source is read. A new one has to be in its bucket or its source."""
    problems, promoted = [*decoded.problems, *found.problems], found.spec
    spec = None
    if decoded.draft is not None and promoted is not None and not errors(problems):
        spec = package_object(
            decoded.draft, file_name=promoted.file, sha256=promoted.sha256, size=promoted.size
        )
        before = promotion.entry_of(PromotedPackage, olds)
        if before is None or before.sha256 != promoted.sha256:
            problems += operations.promoted_problems(decoded.draft, spec, promoted, unknown=decoded.unknown)
        if not decoded.unknown:
            problems += object_spec.validate(spec)
    if errors(problems):
        return Checked(problems=problems)
    if decoded.spec is None or promoted is None or spec is None:
        raise ValueError("a package's inputs cannot be read; please report this")
    OPERATION.print_once(f"package {promoted.file}: {promoted.words}, and not packed here: {promoted.sha256}")
    inputs = {
        **complete(decoded.spec, unknown=decoded.unknown),
        promotion.INPUT: promotion.as_input(promoted),
    }
    derived: dict[str, Any] = dict.fromkeys(DERIVED, UNKNOWN) if decoded.unknown else derived_inputs(spec)
    derived["python_module"] = promoted.python_module
    return Checked(inputs={**inputs, **derived})


class StagedFileProvider(StagedProvider):
    """Inputs: `StagedInputs`, and those that check derives from the file."""

    def defaults(self, resource: str) -> Values:
        return {"prefix": f"files/{object_prefix(resource)}"}

    def check(self, call: Call) -> Checked:
        decoded = decoded_inputs(StagedInputs, call.inputs)
        spec, problems = made_from(decoded, _file_object)
        if decoded.spec is None or errors(problems):
            return Checked(problems=[*decoded.problems, *problems])
        inputs = complete(decoded.spec, unknown=decoded.unknown)
        if decoded.unknown or spec is None:
            return Checked(inputs={**inputs, **dict.fromkeys(DERIVED, UNKNOWN)})
        if faults := errors(object_spec.validate(spec)):
            return Checked(problems=faults)
        return Checked(inputs={**inputs, **derived_inputs(spec)})

    def create(self, call: Call) -> Created:
        raw = call.inputs
        source = Path(raw["source"])
        with _noted(self, call):
            facts = operations.upload(raw, source, _digest(source).sha256, call.key)
        return Created(id=raw["uri"], outputs={**raw, **facts})


def _file_object(inputs: StagedInputs) -> StagedObjectSpec:
    source = Path(inputs.source)
    digest = _digest(source)
    name = object_spec.object_name(inputs.prefix, sha256=digest.sha256, file_name=source.name)
    return StagedObjectSpec(
        bucket=inputs.bucket,
        object_name=name,
        sha256=digest.sha256,
        size=digest.size,
        content_type=CONTENT_TYPE,
    )


def _digest(source: Path) -> FileDigest:
    # Imported here: a program that only declares resources does not need to load packaging.
    from pulumi_vertex_training.packaging.files import check_links
    from pulumi_vertex_training.packaging.package import file_digest

    check_links(Path.cwd(), source)
    return file_digest(source)
