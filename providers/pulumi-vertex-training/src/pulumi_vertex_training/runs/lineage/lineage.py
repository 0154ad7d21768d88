"""The lineage of a run: what it was made of, by the request of its job and facts that no request has. Pure.

It has no argument and no variable of the job, since these may be secret: only addresses of files in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pulumi_vertex_training.cloud.container_registry import image_names
from pulumi_vertex_training.runs import secret_arguments
from pulumi_vertex_training.runs.identity import REASON_LABEL, RUN_LABEL, RUNG_LABEL
from vertex_training.fields import uris
from vertex_training.fields.decode import decode
from vertex_training.fields.document import json_of
from vertex_training.job.checkpoints import VARIABLE, lineage_of
from vertex_training.job.custom_job import from_wire, normalise
from vertex_training.job.ladder import machine_in_words, main_machine, strategy_of

FORMAT = 1
"""The version of the file's format: a higher one may have other meanings, and is not read."""

FILE = "lineage.json"

_ADDRESS = re.compile(r"""(?:gs://|/gcs/)[^\s,;'"`|&?#<>()\[\]{}$]+""")


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image of a run. `digest` is None for a tag that could not be looked up."""

    uri: str
    digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class Package:
    """A Python package of a run. `sha256` is None if its object does not have it."""

    uri: str
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class Data:
    """Data of a run, by its gs:// address, or a dataset by its id.

    `kind` is `file` for one object, `folder` for a staged folder, `dataset` for a managed dataset, and
    `address` for any other address, such as a folder that somebody else filled. `sha256` is the hash of a
    staged file, or the first 16 digits of a staged folder's. `version` is an object's generation, or the
    etag of a dataset.
    """

    uri: str
    kind: Literal["file", "folder", "dataset", "address"] = "address"
    sha256: str | None = None
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A git commit. `is_dirty`: the working tree differed from it, also by a file that git does not track."""

    id: str
    is_dirty: bool


@dataclass(frozen=True, kw_only=True)
class RungOfRun:
    """The rung of a capacity ladder: its position from 1, the strategy, and the machine in words."""

    position: int
    strategy: str | None = None
    machine: str | None = None

    @property
    def words(self) -> str:
        """The rung for people, such as "2, SPOT, g2-standard-8"."""
        return ", ".join(filter(None, [str(self.position), self.strategy, self.machine]))


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """The folder of a run's checkpoints. `first_run` is the run that began it, None for another folder."""

    folder: str
    first_run: str | None = None


@dataclass(frozen=True, kw_only=True)
class Price:
    """The price of an hour by the table of that time, None if a part of it has no price."""

    hourly: float | None
    currency: str = "USD"


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """The parts of a run.

    `run` is its key, `reason` the code of the reason why it ran, `kind` the noun of its job. `program`,
    `stack` and `resource` are Pulumi's names. `versions` has this package and Python.
    """

    format: int = FORMAT
    run: str
    reason: str | None = None
    kind: str
    project: str
    location: str
    program: str | None = None
    stack: str | None = None
    resource: str | None = None
    images: tuple[Image, ...] = ()
    packages: tuple[Package, ...] = ()
    data: tuple[Data, ...] = ()
    commit: Commit | None = None
    rung: RungOfRun | None = None
    checkpoints: Checkpoints | None = None
    price: Price | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


def address_of(directory: str, run: str) -> uris.GcsUri:
    """Return the address of a run's file in its output directory, which other runs may share."""
    folder = uris.parse(directory.rstrip("/"))
    is_own = folder.name.rpartition("/")[2] == run
    return folder.join(FILE if is_own else f"lineage-{run}.json")


def is_name(name: str) -> bool:
    """Return whether an object of this name, without its folder, is the file of a lineage."""
    return re.fullmatch(r"lineage(-[0-9a-f]{16}-\d+)?\.json", name) is not None


def of_request(
    wire: Mapping[str, Any],
    *,
    kind: str,
    project: str,
    location: str,
    marks: Mapping[str, str],
    is_secret: Callable[[str], bool],
) -> Lineage:
    """Return the lineage that the request of a job shows; hashes and digests of other things are missing.

    Addresses in an argument or variable that `is_secret` are left out.
    """
    labels = wire.get("labels") or {}
    pools = secret_arguments.pools_of(wire)
    tasks = [task for task in map(secret_arguments.task_of, pools) if task]
    packages = {str(uri) for task in tasks for uri in task.get("packageUris") or ()}
    return Lineage(
        run=str(labels.get(RUN_LABEL, "")),
        reason=labels.get(REASON_LABEL),
        kind=kind,
        project=project,
        location=location,
        program=marks.get("project"),
        stack=marks.get("stack"),
        resource=marks.get("resource"),
        images=tuple(_images(tasks)),
        packages=tuple(Package(uri=uri) for uri in sorted(packages)),
        data=tuple(_data(wire, tasks, is_secret)),
        rung=rung_of(labels, wire),
        checkpoints=_checkpoints(tasks),
    )


def _images(tasks: Iterable[Mapping[str, Any]]) -> Iterator[Image]:
    names = (task.get("imageUri") or task.get("executorImageUri") for task in tasks)
    for uri in dict.fromkeys(str(name) for name in names if name):
        try:
            yield Image(uri=uri, digest=image_names.parse(uri).digest)
        except ValueError:
            yield Image(uri=uri)


def _data(
    wire: Mapping[str, Any], tasks: Iterable[Mapping[str, Any]], is_secret: Callable[[str], bool]
) -> Iterator[Data]:
    dataset = (wire.get("inputDataConfig") or {}).get("datasetId")
    if dataset:
        yield Data(uri=str(dataset), kind="dataset")
    texts = (text for task in tasks for text in _texts(task) if not is_secret(text))
    found = {uris.unmounted(each) for text in texts for each in _ADDRESS.findall(text)}
    yield from (Data(uri=uri) for uri in sorted(found) if uris.parse_or_none(uri))


def _texts(task: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments of a task, and its variables except for the folder of checkpoints."""
    yield from secret_arguments.arguments_of(task)
    for variable in task.get("env") or ():
        if variable.get("name") != VARIABLE:
            yield str(variable.get("value") or "")


def rung_of(labels: Mapping[str, str], wire: Mapping[str, Any]) -> RungOfRun | None:
    """Return the rung of a job, None without a ladder."""
    position = labels.get(RUNG_LABEL, "").partition("-")[0]
    if not position.isdigit():
        return None
    try:
        spec = normalise(from_wire(wire))
    except ValueError:  # a job of a newer version
        return RungOfRun(position=int(position))
    machine = main_machine(spec)
    return RungOfRun(
        position=int(position),
        strategy=strategy_of(spec),
        machine=machine_in_words(machine) if machine else None,
    )


def _checkpoints(tasks: Iterable[Mapping[str, Any]]) -> Checkpoints | None:
    variables = (variable for task in tasks for variable in task.get("env") or ())
    folder = next((str(one.get("value")) for one in variables if one.get("name") == VARIABLE), None)
    if not folder or not folder.startswith("gs://"):
        return None
    return Checkpoints(folder=folder, first_run=lineage_of(folder))


def masked(lineage: Lineage, mask: Callable[[str], str]) -> Lineage:
    """Return the lineage with each text passed through `mask`, but its own run and its digests' algorithm."""

    def each(value: object) -> Any:
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, Mapping):
            return {name: each(item) for name, item in value.items()}
        return [each(item) for item in value] if isinstance(value, list) else value

    found = parsed(each(json_of(lineage)))
    return lineage if found is None else replace(found, run=lineage.run)


def parsed(document: object) -> Lineage | None:
    """Return the lineage of a document; None for anything else, and for a higher version of the format."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        return None
    return decode(Lineage, document, tolerant=True).spec
