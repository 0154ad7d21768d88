"""Find an id that two resources of a program have, or that somebody else's resource has already.

A preview asks the provider of a new resource nothing but its check, so the program hands over what it found
when it looked the id up (`program.preview.conflicts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pulumi_vertex_training import urns
from pulumi_vertex_training.cloud.errors import AlreadyExists, CloudError
from pulumi_vertex_training.core.call import Call
from pulumi_vertex_training.core.interrupted import creation_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.state.hidden_input import FOUND
from vertex_training.findings.problems import Problem


@dataclass(frozen=True, kw_only=True)
class Identity:
    """An id of a kind of resource in a location, which only one resource can have.

    `field` is the input that gives the id. A resource that has one of the `labels` is the declaration's own.
    """

    noun: str
    field: str
    id: str
    place: str
    labels: tuple[Mapping[str, str], ...] = ()
    taken: str
    """The remedy if the service has the id already."""
    where: str = ""
    """The place in words, such as `project p, us-central1`; "" if `taken` says where the id is taken."""


def explained(error: CloudError, identity: Identity) -> CloudError:
    """Return the error of a creation; one because the id exists already has its remedy."""
    if not isinstance(error, AlreadyExists):
        return error
    return AlreadyExists(
        f"{identity.noun} {identity.id} already exists in {identity.where}. {identity.taken}. ({error})",
        code=error.code,
        resource=identity.id,
        endpoint=error.endpoint,
    )


def problems(identity: Identity, call: Call) -> Iterator[Problem]:
    """Yield the conflict of an id with another resource of the program, or with an existing one."""
    if not call.urn:
        return
    first = OPERATION.claim(f"{identity.noun} {identity.place} {identity.id}", call.urn)
    if first != call.urn:
        yield Problem(
            path=identity.field,
            message=f"{identity.id!r} is the {identity.field} of two resources of this program: "
            f"{urns.distinct_names(first, call.urn)}. Only one {identity.noun} can have it. "
            f"Give one of the two another {identity.field}",
        )
        return
    found = call.context.given.get(FOUND)
    if not isinstance(found, Mapping) or found.get("id") != identity.id or call.context.recorded:
        return
    labels = found.get("labels") or {}
    has_it = f"{identity.where}, has such a {identity.noun}. " if identity.where else ""
    is_own = any(each and each.items() <= labels.items() for each in identity.labels)
    if not is_own and not creation_notes.is_left_over(labels):
        yield Problem(path=identity.field, message=f"{identity.id!r} is taken: {has_it}{identity.taken}")
