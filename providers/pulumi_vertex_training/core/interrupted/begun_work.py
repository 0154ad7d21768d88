"""Notes of deletions and tags that began on this machine: an interrupted one is not taken for the user's.

If a deployment is killed while it deletes, the service has deleted the resource, or cancelled the job, and
cannot say who did it, and Pulumi's state has the resource as before. The note that a deletion has begun is a
file, named by the resource, in the folder `deletions` of the stack's data folder (`dataDir`), for
resources on Google Cloud as well. It is written before the deletion. That of a job stays, because no id of a
job is used again; that of another resource goes when a resource of this id is made. In the same way the tags
that an image gets are noted before they are set: those of a killed deployment are in no state.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.core.call import Difference
from pulumi_vertex_training.core.interrupted import notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.settings import target_of
from pulumi_vertex_training.runs.policies.run_status import LastRun, LookupResult, last_run
from vertex_emulator import launcher

_STOPPED = frozenset({LastRun.CANCELLED, LastRun.CANCELLING, LastRun.GONE})


def note(name: str, reason: str = "") -> None:
    """Note that the deletion of the resource with this full name begins. A full disk does not stop it.

    `reason` is the code of the reason for the run that replaces a job, "" for another deletion.
    """
    _write(name, reason)


def reason_of(name: str) -> str:
    """Return the reason with which the deletion was noted, "" without one."""
    return _read(name)


def note_tags(image: str, tags: Iterable[str]) -> None:
    """Note the tags that an image is about to have."""
    _write(f"tags of {image}", "\n".join(tags))


def noted_tags(image: str) -> list[str]:
    """Return the tags that were noted for an image."""
    return _read(f"tags of {image}").splitlines()


def forget(name: str) -> None:
    """Take back the note: a resource with this full name was made."""
    with contextlib.suppress(OSError):
        (_folder() / _file(name)).unlink(missing_ok=True)


def has_begun(name: str) -> bool:
    """Return whether the deletion of the resource with this full name has begun."""
    return (_folder() / _file(name)).exists()


def stopped(seen: str | LookupResult) -> bool:
    """Return whether a deletion that has begun came so far that the job is cancelled or gone."""
    return last_run("", seen) in _STOPPED


def made_good(
    difference: Difference,
    name: str,
    recorded: Mapping[str, Any],
    find: Callable[[Endpoint], object | None],
    *,
    title: str,
) -> Difference:
    """Return the difference, or a replacement if an interrupted deletion has removed the resource.

    `find` returns what the service has, or None, or raises NotFound. It is called only if a
    deletion has begun.
    """
    if not has_begun(name):
        return difference

    def exists(endpoint: Endpoint) -> bool:
        try:
            return find(endpoint) is not None
        except NotFound:
            return False

    unknown = f"whether {title}, whose deletion was interrupted, still exists"
    if QUERIES.ask_endpoint(target_of(recorded), exists, unknown=unknown) is not False:
        return difference
    OPERATION.say_once(f"{title} is created again: an interrupted deployment deleted it")
    # The engine asks for the name of an input that replaces the resource, even of one that is equal.
    replaces = difference.replaces or ["project"]
    return Difference(changes=True, replaces=replaces, delete_before_replace=True)


def _write(name: str, text: str) -> None:
    notes.write(_folder(), _file(name), text)


def _read(name: str) -> str:
    try:
        return (_folder() / _file(name)).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _folder() -> Path:
    return launcher.data_dir_of(OPERATION.settings.data_dir) / "deletions"


def _file(name: str) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{'-'.join(name.split('/')[-2:])[-100:]}-{digest}"
