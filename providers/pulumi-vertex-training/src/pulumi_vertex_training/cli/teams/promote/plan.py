"""The plan of a promotion: artifacts to copy, configuration to write, and what is there already."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pulumi_vertex_training.cli.teams.promote import artifacts, chosen, stacks, tried
from pulumi_vertex_training.cli.teams.promote.artifacts import IMAGE, PACKAGE, Image, Package
from pulumi_vertex_training.cli.teams.promote.chosen import Setting
from pulumi_vertex_training.cli.teams.promote.stacks import Stack
from pulumi_vertex_training.cli.teams.promote.tried import Tried
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import copying
from pulumi_vertex_training.cloud.container_registry.copying import Missing
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.core.promotion import entries as promotion
from pulumi_vertex_training.core.promotion import packages as promoted_packages
from pulumi_vertex_training.core.promotion.entries import Promotion
from pulumi_vertex_training.core.settings import SettingsError
from pulumi_vertex_training.pulumi_command import project_here
from pulumi_vertex_training.timeouts import Timeouts
from vertex_emulator import launcher
from vertex_training.command_line.errors import CommandError, InputError

Copy = Literal["there", "mount", "send", "copy", "later"]
"""How an artifact gets to its place.

It is there; its blobs are mounted; its blobs are sent through this machine; Cloud Storage copies it; or the
first deployment copies it, because the other stack has no place for it yet.
"""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One artifact with how it is copied. `missing` is what an image's repository lacks."""

    artifact: Image | Package
    copy: Copy
    missing: Missing = field(default_factory=Missing)

    @property
    def changes(self) -> bool:
        """Return whether the other stack runs other content now."""
        entry = self.artifact.entry
        content = entry.digest if isinstance(entry, promotion.PromotedImage) else entry.sha256
        return self.artifact.deployed != content


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a promotion. `before` and `after` are what the other stack's configuration records."""

    source: Stack
    target: Stack
    run: str
    steps: tuple[Step, ...]
    settings: tuple[Setting, ...]
    notes: tuple[str, ...]
    before: Promotion
    after: Promotion

    @property
    def writes_configuration(self) -> bool:
        return self.before != self.after or any(one.changes for one in self.settings)

    @property
    def changes(self) -> bool:
        """Return whether there is anything to do."""
        return self.writes_configuration or any(step.copy in ("mount", "send", "copy") for step in self.steps)


def make(folder: Path, source: str, target: str, run: str | None, timeouts: Timeouts) -> Plan:
    """Return the plan. Reads both stacks and their services, and changes nothing.

    Raises InputError, CommandError and CloudError.
    """
    here = project_here(folder) or ""
    with ThreadPoolExecutor(max_workers=2) as pool:
        reading = [
            pool.submit(stacks.read, folder, name, here, timeouts, path=path)
            for name, path in ((source, "--from"), (target, "--to"))
        ]
        old, new = (one.result() for one in reading)
    _require_one_place(old, new)
    before, broken = _promotion(new, is_replaced=run is None)
    runs = [tried.named_run(old, run, target)] if run is not None else tried.last_runs(old, target)
    found: list[Image | Package] = [
        *artifacts.images(old, runs, new, named=run is not None),
        *artifacts.packages(old, runs, new, named=run is not None),
    ]
    if not found:
        raise CommandError(_nothing(old, runs if run is not None else []))
    settings, notes = _settings(folder, old, new, runs[0] if run is not None else None, timeouts)
    after = _after(before if run is not None else Promotion(), found)
    return Plan(
        source=old,
        target=new,
        run=runs[0].run if run is not None else "",
        steps=tuple(_step(one, new) for one in found),
        settings=tuple(settings),
        notes=(*broken, *notes),
        before=before,
        after=after,
    )


def _require_one_place(source: Stack, target: Stack) -> None:
    """Raise InputError unless both stacks deploy to Google Cloud, or both to one emulator."""
    old, new = source.settings(), target.settings()
    if old.endpoint != new.endpoint:
        names = {"google": "Google Cloud", "emulator": "the emulator"}
        raise InputError(
            f"stack {source.name} deploys to {names[old.endpoint]}, and stack {target.name} to "
            f"{names[new.endpoint]} (vertex-training:endpoint). An image is promoted only between stacks of "
            "the same kind: on the emulator, base images are stand-ins. Promote from a stack on "
            f"{names[new.endpoint]}.",
            path="--to",
        )
    folders = [launcher.data_dir_of(one.data_dir) for one in (old, new)]
    if old.endpoint == "emulator" and folders[0] != folders[1]:
        raise InputError(
            f"stack {source.name} uses the emulator of {folders[0]}, and stack {target.name} that of "
            f"{folders[1]} (vertex-training:dataDir). Give both the same folder.",
            path="--to",
        )


def _promotion(stack: Stack, *, is_replaced: bool) -> tuple[Promotion, tuple[str, ...]]:
    """Return the present promotion of a stack, and a note about one that cannot be read.

    Raises CommandError for the latter, unless the promotion replaces all of it.
    """
    value = stack.config.get(promotion.KEY)
    try:
        return promotion.read(value.text if value is not None else None), ()
    except SettingsError as error:
        if is_replaced:
            return Promotion(), (f"The promotion of stack {stack.name} cannot be read, and is replaced.",)
        raise CommandError(f"stack {stack.name}: {error}", path=promotion.KEY) from None


def _nothing(source: Stack, runs: Sequence[Tried]) -> str:
    what = "builds no image and stages no package"
    if not runs:
        return (
            f"stack {source.name} {what}, so there is nothing to promote. Jobs of images that exist already "
            "name them in the program."
        )
    return (
        f"run {runs[0].run} used no image and no package that stack {source.name} has now. Its job names the "
        f"images: `vertex-training status {runs[0].as_argument} --json`."
    )


def _settings(
    folder: Path, source: Stack, target: Stack, run: Tried | None, timeouts: Timeouts
) -> tuple[list[Setting], list[str]]:
    """Return the configuration to copy: that of the present, or that with which an earlier run was made."""
    names = chosen.declared(source.config, source.name, source.project)
    secrets = bool(names.secrets)
    theirs = target.config
    if secrets:
        theirs = stacks.read_config(folder, target.name, timeouts, path="--to", secrets=True)
    if run is None:
        now = source.config
        if secrets:
            now = stacks.read_config(folder, source.name, timeouts, path="--from", secrets=True)
        return chosen.settings(names, now, theirs, source.name)
    created = run.record.create_time or ""
    then = stacks.deployment_at(folder, source.name, created, timeouts, secrets=secrets) if created else None
    if then is None:
        note = (
            f"The configuration of run {run.run} is not in the history of stack {source.name}. That of stack "
            f"{target.name} stays as it is."
        )
        return [], [note] if names.config or names.secrets else []
    settings, notes = chosen.settings(names, then.config, theirs, source.name)
    if then.commit:
        changed = " with uncommitted changes" if then.is_dirty else ""
        notes.append(
            f"Run {run.run} was deployed from commit {then.commit[:12]}{changed}. To deploy its program as "
            "well, check it out."
        )
    return settings, notes


def _after(before: Promotion, found: Sequence[Image | Package]) -> Promotion:
    images = {one.name: one.entry for one in found if isinstance(one, Image)}
    packages = {one.name: one.entry for one in found if isinstance(one, Package)}
    return Promotion(images={**before.images, **images}, packages={**before.packages, **packages})


def _step(one: Image | Package, target: Stack) -> Step:
    """Look an artifact up. Raises CommandError if it is nowhere."""
    kind = IMAGE if isinstance(one, Image) else PACKAGE
    deployed = target.of_kind(kind).get(one.name)
    endpoint = target.endpoint_of(deployed)
    if isinstance(one, Image):
        return _image_step(one, endpoint)
    return _package_step(one, endpoint)


def _image_step(one: Image, endpoint: Endpoint) -> Step:
    try:
        tree = copying.read(endpoint, one.source)
    except NotFound as error:
        if one.target is None or not registry.find_manifest(endpoint, one.target.at(one.entry.digest)):
            raise _gone(f"image {one.name}: {one.source}", one.entry) from error
        return Step(artifact=one, copy="there")
    if one.target is None:
        return Step(artifact=one, copy="later")
    missing = copying.missing(endpoint, tree, one.target)
    if not missing.manifests:
        return Step(artifact=one, copy="there")
    return Step(artifact=one, copy="send" if missing.is_sent else "mount", missing=missing)


def _package_step(one: Package, endpoint: Endpoint) -> Step:
    places = [one.entry.source_uri] if one.target is None else [one.target, one.entry.source_uri]
    for place in places:
        record = objects.find(endpoint, place.bucket, place.name)
        if record is not None and promoted_packages.has_content(record, one.entry):
            if one.target is None:
                return Step(artifact=one, copy="later")
            return Step(artifact=one, copy="there" if place == one.target else "copy")
    raise _gone(f"package {one.name}: {one.entry.source}", one.entry)


def _gone(what: str, entry: promotion.Promoted) -> CommandError:
    return CommandError(
        f"{what} no longer exists. Deploy stack {entry.stack} again "
        f"(`pulumi up --refresh --stack {entry.stack}`) and promote that, or promote another run with --run."
    )
