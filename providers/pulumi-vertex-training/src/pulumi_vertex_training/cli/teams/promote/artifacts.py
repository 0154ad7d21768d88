"""The images and packages of tried runs, and where the other stack has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cli.teams.promote.stacks import Resource, Stack
from pulumi_vertex_training.cli.teams.promote.tried import Tried
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.core.promotion.entries import PromotedImage, PromotedPackage
from pulumi_vertex_training.kinds.staged import spec as object_spec
from vertex_training.command_line.errors import CommandError
from vertex_training.fields.uris import GcsUri

IMAGE, PACKAGE = "TrainingImage", "StagedPackage"
_ADDRESS = re.compile(r"gs://[^\s\"']+")


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image to promote. `target` is its repository in the other stack, None if that has none yet.

    `deployed` is the digest that the other stack has now, "" for none.
    """

    name: str
    entry: PromotedImage
    target: ImageName | None = None
    deployed: str = ""

    @property
    def source(self) -> ImageName:
        return parse(self.entry.source).at(self.entry.digest)


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package to promote. `target` is its object in the other stack, None if that has no bucket for it yet.

    `deployed` is the hash of the package that the other stack has now, "" for none.
    """

    name: str
    entry: PromotedPackage
    target: GcsUri | None = None
    deployed: str = ""


def images(source: Stack, runs: Sequence[Tried], target: Stack, *, named: bool) -> Iterator[Image]:
    """Yield the images of the runs.

    With `named`, only those that the one run used: the state may have others by now. Raises CommandError for
    an image that was built after the last run.
    """
    there = target.of_kind(IMAGE)
    for name, resource in source.of_kind(IMAGE).items():
        own = parse(resource.id)
        pattern = re.compile(re.escape(own.repository) + r"@(sha256:[0-9a-f]{64})")
        used = [(one, digest) for one in runs for digest in dict.fromkeys(pattern.findall(one.text))]
        run: Tried | None
        if named:
            if not used:
                continue
            run, digest = used[0]
        else:
            exact = [one for one, digest in used if digest == own.digest]
            if used and not exact:
                raise _not_run(f"image {name}", source, str(own.digest), *used[0])
            run, digest = (exact[0] if exact else None), own.digest or ""
        deployed = there.get(name)
        place = parse(deployed.id) if deployed is not None and deployed.id else None
        yield Image(
            name=name,
            entry=PromotedImage(stack=source.short, digest=digest, source=own.repository, **_origin(run)),
            target=None if place is None else ImageName(host=place.host, path=place.path),
            deployed=(place.digest or "") if place is not None else "",
        )


def packages(source: Stack, runs: Sequence[Tried], target: Stack, *, named: bool) -> Iterator[Package]:
    """Yield the packages of the runs, as `images` does. Raises CommandError also for one that is gone."""
    there = target.of_kind(PACKAGE)
    for name, resource in source.of_kind(PACKAGE).items():
        uri = resource.text("uri") or resource.id
        folder = uri.rsplit("/", 2)[0]
        used = [
            (run, each)
            for run in runs
            for each in dict.fromkeys(_ADDRESS.findall(run.text))
            if each.rsplit("/", 2)[0] == folder
        ]
        deployed = there.get(name)
        if named:
            if not used:
                continue
            run, address = used[0]
            entry = (
                _recorded(source, resource, run)
                if address == uri
                else _earlier(source, target, resource, deployed, run, address)
            )
        else:
            exact = [run for run, each in used if each == uri]
            if used and not exact:
                raise _not_run(f"package {name}", source, uri, *used[0])
            entry = _recorded(source, resource, exact[0] if exact else None)
        yield Package(
            name=name,
            entry=entry,
            target=None if deployed is None else _target(deployed, entry.sha256, entry.file),
            deployed=deployed.text("sha256") if deployed is not None else "",
        )


def _not_run(what: str, source: Stack, has: str, run: Tried, used: str) -> CommandError:
    return CommandError(
        f"{what}: stack {source.name} has {has}, but its last run, {run.run}, used {used}. Run "
        f"`pulumi up --stack {source.name}`, and promote when the new run has succeeded.",
        path="--from",
    )


def _origin(run: Tried | None) -> dict[str, str]:
    return {} if run is None else {"run": run.run, "job": run.record.name}


def _recorded(source: Stack, resource: Resource, run: Tried | None) -> PromotedPackage:
    """Return the package that the state has."""
    size = resource.props.get("size")
    return PromotedPackage(
        stack=source.short,
        file=resource.text("object_name").rpartition("/")[2],
        sha256=resource.text("sha256"),
        size=int(size) if isinstance(size, (int, float)) else 0,
        source=resource.text("uri") or resource.id,
        python_module=resource.text("python_module"),
        **_origin(run),
    )


def _earlier(
    source: Stack, target: Stack, resource: Resource, deployed: Resource | None, run: Tried, address: str
) -> PromotedPackage:
    """Return the package of an earlier run: the object may still exist in one of the two stacks."""
    start, digits, file = address.rsplit("/", 2)
    own = GcsUri(*start.removeprefix("gs://").partition("/")[::2]).join(digits, file)
    places = [(source.endpoint_of(resource), own)]
    if deployed is not None:
        places.append((target.endpoint_of(deployed), _target(deployed, digits, file)))
    for endpoint, place in places:
        record = objects.find(endpoint, place.bucket, place.name)
        sha256 = record.metadata.get(objects.SHA256_KEY, "") if record is not None else ""
        if record is not None and sha256.startswith(digits):
            return PromotedPackage(
                stack=source.short,
                file=file,
                sha256=sha256,
                size=record.size,
                source=address,
                python_module=_module(run),
                **_origin(run),
            )
    where = " nor at ".join(str(place) for _, place in places)
    raise CommandError(
        f"package {resource.name}: the package of run {run.run} no longer exists at {where}. A stack deletes "
        "a package that it replaces, unless it was promoted. Check out the code of that run, and deploy "
        f"stack {source.name} again.",
        path="--run",
    )


def _target(deployed: Resource, sha256: str, file: str) -> GcsUri:
    """Return the object of a package in the stack that has this resource."""
    name = object_spec.object_name(deployed.text("prefix"), sha256=sha256, file_name=file)
    return GcsUri(deployed.text("bucket"), name)


def _module(run: Tried) -> str:
    """Return the module that the first pool with a package ran, "" if none has one."""
    found = _values(run.record.wire, "pythonModule")
    return next((each for each in found if isinstance(each, str)), "")


def _values(value: object, key: str) -> Iterator[object]:
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        for item in value.values():
            yield from _values(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item, key)
