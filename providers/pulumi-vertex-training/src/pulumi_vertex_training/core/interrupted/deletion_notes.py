"""Write-ahead notes of deletions and tags: an interrupted one is not mistaken for a change by the user.

If a deployment is killed while it deletes, the service has deleted the resource, or cancelled the job, and
cannot tell who did it, and Pulumi's state has the resource as before. The note of a deletion, named by the
resource, is written before it, for resources on Google Cloud as well. The note of a job stays, because no id
of a job is used again; any other goes when a resource of its id is made. Tags of an image are noted before
they are set: no state has the tags of a killed deployment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.core.call import Call, Difference
from pulumi_vertex_training.core.interrupted import creation_notes, notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import CREATED_AGAIN
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.runs.policies.run_status import LastRun, LookupResult, last_run

_STOPPED = frozenset({LastRun.CANCELLED, LastRun.CANCELLING, LastRun.GONE})


def note(name: str, reason: str = "") -> None:
    """Note that the deletion of the resource with this full name begins. A full disk does not stop it.

    `reason` is the code of the reason for the run that replaces a job, "" for another deletion.
    """
    notes.write(_note(name), reason)


def reason_of(name: str) -> str:
    """Return the reason with which the deletion was noted, "" without one."""
    return notes.read(_note(name))


def note_tags(image: str, tags: Iterable[str]) -> None:
    """Note the tags that an image is about to have."""
    notes.write(_note(f"tags of {image}"), "\n".join(tags))


def noted_tags(image: str) -> list[str]:
    """Return the tags that were noted for an image."""
    return notes.read(_note(f"tags of {image}")).splitlines()


def forget(name: str) -> None:
    """Take back the note: a resource with this full name was made."""
    notes.remove(_note(name))


def has_begun(name: str) -> bool:
    """Return whether the deletion of the resource with this full name has begun."""
    return _note(name).exists()


def stopped(seen: str | LookupResult) -> bool:
    """Return whether a deletion that has begun came so far that the job is cancelled or gone."""
    return last_run("", seen) in _STOPPED


def continued(
    difference: Difference,
    call: Call,
    find: Callable[[Endpoint], object | None],
    *,
    title: str,
    created_as: str = "",
) -> Difference:
    """Return the difference with what an interrupted deployment left to do.

    It is an update if interrupted creations of the resource have to be removed, and a replacement if an
    interrupted deletion has removed the resource. `find` returns what the service has, or None, or raises
    NotFound; it is called only if a deletion has begun. `created_as` is the id of the creation, if it is not
    that of the resource.
    """
    created_as = created_as or call.id
    difference = creation_notes.with_removals(difference, created_as, key=call.key, recorded_id=call.id)
    if not has_begun(call.id):
        return difference

    def exists(endpoint: Endpoint) -> bool:
        try:
            return find(endpoint) is not None
        except NotFound:
            return False

    unknown = f"whether {title}, whose deletion was interrupted, still exists"
    if QUERIES.ask_endpoint(target_of(call.outputs), exists, unknown=unknown) is not False:
        return difference
    OPERATION.print_once(f"{title} is created again: an interrupted deployment deleted it")
    properties = difference.properties if difference.replaces else (*difference.properties, CREATED_AGAIN)
    return Difference(changes=True, properties=properties, delete_before_replace=True)


def _note(name: str) -> Path:
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return notes.folder("deletions") / f"{'-'.join(name.split('/')[-2:])[-100:]}-{digest}"
