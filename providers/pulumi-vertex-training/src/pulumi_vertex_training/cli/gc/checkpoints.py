"""Find the checkpoints of lineages that no run has any longer, and delete them by name.

They are results, so none is a proven orphan: a job or a person outside of the stacks may read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.cli.gc.candidates import Decision, KnownStack, Status
from pulumi_vertex_training.cli.gc.sweep import Outcome
from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.objects import ObjectRecord
from vertex_training.fields import uris
from vertex_training.job.checkpoints import lineage_of

_MARKER = "/COMPLETE.json"


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """The folder of a lineage, and the bytes of its objects."""

    uri: str
    size: int


def lineages(endpoint: Endpoint, stacks: Sequence[KnownStack]) -> Iterator[Lineage]:
    """Yield the lineages beside those that the states of the stacks name."""
    states = [state for stack in stacks for state in (stack.now, stack.past) if state]
    folders = {folder for state in states for folder in state.checkpoints if lineage_of(folder)}
    for parent in sorted({f"{folder.rstrip('/').rpartition('/')[0]}/" for folder in folders}):
        sizes: dict[str, int] = {}
        for one in _listed(endpoint, parent):
            uri = f"{parent}{one.uri.removeprefix(parent).partition('/')[0]}/"
            if lineage_of(uri):
                sizes[uri] = sizes.get(uri, 0) + one.size
        yield from (Lineage(uri=uri, size=size) for uri, size in sizes.items())


def decide_lineage(uri: str, stacks: Sequence[KnownStack], *, read_by_jobs: str) -> Decision:
    """Decide the status of a lineage. `read_by_jobs` is the text of the specs of jobs, live or ended."""
    for stack in stacks:
        if stack.now and uri in stack.now.text:
            return Decision(status=Status.KNOWN, reason=f"stack {stack.name} has it")
    if uri in read_by_jobs:
        return Decision(status=Status.KNOWN, reason="a job has it")
    reason = f"no run has it; `vertex-training gc --yes {uri}` deletes it"
    return Decision(status=Status.UNPROVEN, reason=reason)


def delete_lineage(endpoint: Endpoint, uri: str, *, refusal: Callable[[], str]) -> Outcome:
    """Delete the objects of a lineage, the markers first. Never raises a CloudError."""
    if reason := refusal():
        return Outcome(words=f"skipped: {reason}")
    try:
        for one in sorted(_listed(endpoint, uri), key=lambda one: not one.name.endswith(_MARKER)):
            objects.delete(endpoint, one.bucket, one.name)
    except NotFound:
        return Outcome(words="skipped: something else is deleting it")
    except CloudError as error:
        return Outcome(words=str(error), failed=True)
    return Outcome(words="deleted", deleted=True)


def _listed(endpoint: Endpoint, folder: str) -> list[ObjectRecord]:
    address = uris.parse(folder)
    try:
        return list(objects.list_objects(endpoint, address.bucket, prefix=address.name))
    except NotFound:
        return []
