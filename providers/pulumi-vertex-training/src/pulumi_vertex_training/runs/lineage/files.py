"""The files with the lineages of runs: written once for each run, and read by the API.

A file is deleted with the record of its job where it explains nothing, because the run has left no output.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, Conflict, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.lineage import lineage as lineages
from pulumi_vertex_training.runs.lineage.lineage import Lineage, address_of
from pulumi_vertex_training.runs.monitoring.progress import directory_of
from vertex_training.fields import uris
from vertex_training.fields.document import json_of
from vertex_training.fields.uris import GcsUri


def write(endpoint: Endpoint, directory: str, lineage: Lineage) -> None:
    """Write the lineage of a run that no job has yet, right before its job is submitted. Raises CloudError.

    A deployment that was killed in between may have written the file for the job that it did not submit. The
    same content is then not sent again, and other content is replaced.
    """
    address, document = address_of(directory, lineage.run), json_of(lineage)

    def put(generation: int) -> None:
        objects.put_document(endpoint, address.bucket, address.name, document, if_generation_match=generation)

    try:
        put(0)
    except Conflict:
        there = objects.get(endpoint, address.bucket, address.name)
        if _read(endpoint, address) != lineage:
            put(there.generation)


def read(endpoint: Endpoint, directory: str | None, run: str) -> Lineage | None:
    """Return the lineage of a run, None without one that can be read. Raises no CloudError."""
    if not directory or not run or uris.parse_or_none(directory) is None:
        return None
    return _read(endpoint, address_of(directory, run))


def delete_unused(endpoint: Endpoint, record: JobRecord) -> None:
    """Delete the lineage of a job whose output directory has nothing but lineages. Raises no CloudError."""
    directory, run = directory_of(record), record.labels.get(RUN_LABEL)
    if not run or directory is None or uris.parse_or_none(directory) is None:
        return
    address = address_of(directory, run)
    folder = address.name[: address.name.rfind("/") + 1]
    with contextlib.suppress(CloudError):
        listed = objects.list_objects(endpoint, address.bucket, prefix=folder)
        if all(lineages.is_name(one.name[len(folder) :]) for one in listed):
            objects.delete(endpoint, address.bucket, address.name)


def above(endpoint: Endpoint, address: GcsUri) -> tuple[Lineage, ...]:
    """Return the lineages of the runs in whose output directory an address is, if there are any.

    Several runs share a directory that the program declares. Raises CloudError.
    """
    for folder in _folders(address):
        prefix = f"{folder}/" if folder else ""
        try:
            listed = objects.list_objects(endpoint, address.bucket, prefix=f"{prefix}lineage")
            names = [one.name for one in listed if lineages.is_name(one.name[len(prefix) :])]
        except NotFound:
            return ()
        if found := [_read(endpoint, GcsUri(address.bucket, name)) for name in names]:
            return tuple(filter(None, found))
    return ()


def _folders(address: GcsUri) -> Iterator[str]:
    """Yield the folders in which an address is, the deepest first, and the bucket itself as ""."""
    name = address.name.rstrip("/")
    while name:
        yield name
        name = name.rpartition("/")[0]
    yield ""


def _read(endpoint: Endpoint, address: GcsUri) -> Lineage | None:
    try:
        return lineages.parsed(json.loads(objects.read(endpoint, address.bucket, address.name)))
    except (CloudError, ValueError, RecursionError):
        return None
