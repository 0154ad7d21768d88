"""Access control lists of buckets and objects: their entries, and the predefined lists.

They are stored and shown, and have no effect: every client with the emulator's token may do everything.
("Access control lists", "Predefined ACLs".)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.services.storage.errors import StorageError, invalid, public_access_prevented
from vertex_emulator.services.storage.fields import checks

Entries = list[dict[str, str]]
"""Entries with `entity` and `role`."""

BUCKET_ROLES = ("OWNER", "WRITER", "READER")
OBJECT_ROLES = ("OWNER", "READER")
PUBLIC = ("allUsers", "allAuthenticatedUsers")
OF_BUCKETS = ("authenticatedRead", "private", "projectPrivate", "publicRead", "publicReadWrite")
OF_OBJECTS = (
    *("authenticatedRead", "bucketOwnerFullControl", "bucketOwnerRead"),
    *("private", "projectPrivate", "publicRead"),
)

_MAX_ENTRIES = 100
_ENTITY = re.compile(
    r"allUsers|allAuthenticatedUsers|project-(?:owners|editors|viewers)-\w+|(?:user|group)-\S+@\S+|domain-\S+"
    r"|user-\S+"
)
_TEAM = re.compile(r"project-(owners|editors|viewers)-(\w+)")
_SERVICE_MADE = ("kind", "id", "selfLink", "bucket", "object", "generation", "email", "entityId", "domain")


def entries(path: str, value: object, *, roles: Sequence[str]) -> Entries:
    """Check a list of entries. A later entry for an entity replaces an earlier one."""
    if not isinstance(value, list):
        raise invalid(f"{path} must be a list.")
    if len(value) > _MAX_ENTRIES:
        raise invalid(f"{path} has {len(value)} entries; the limit is {_MAX_ENTRIES}.")
    by_entity: dict[str, dict[str, str]] = {}
    for index, item in enumerate(value):
        entry_ = entry(f"{path}[{index}]", item, roles=roles)
        by_entity[entry_["entity"]] = entry_
    return list(by_entity.values())


def entry(path: str, value: object, *, roles: Sequence[str]) -> dict[str, str]:
    """Check one entry. Raises `StorageError` 400."""
    sent = checks.record(
        path,
        {name: item for name, item in value.items() if name not in _SERVICE_MADE}
        if isinstance(value, dict)
        else value,
        {
            "entity": checks.text,
            "role": checks.one_of(*roles),
            "etag": checks.text,
            "projectTeam": lambda _, item: item,
        },
    )
    for name in ("entity", "role"):
        if name not in sent:
            raise invalid(f"{path}.{name} is missing.")
    if not _ENTITY.fullmatch(sent["entity"]):
        raise invalid(
            f"{path}.entity must be like user-EMAIL, group-EMAIL, domain-NAME, project-owners-PROJECT, "
            f"allUsers or allAuthenticatedUsers, not {sent['entity']!r}."
        )
    return {"entity": sent["entity"], "role": sent["role"]}


def of_bucket(name: str, project: str) -> Entries:
    """Return the entries of a predefined list of a bucket."""
    defaults = _team(project, "owners", "OWNER")
    if name == "projectPrivate":
        defaults += _team(project, "editors", "OWNER") + _team(project, "viewers", "READER")
    public = {"publicRead": "READER", "publicReadWrite": "WRITER"}.get(name)
    if public is not None:
        defaults.append({"entity": "allUsers", "role": public})
    if name == "authenticatedRead":
        defaults.append({"entity": "allAuthenticatedUsers", "role": "READER"})
    return defaults


def of_object(name: str, project: str, *, owner: bool = True) -> Entries:
    """Return the entries of a predefined list of an object, or without its owner of a bucket's default."""
    found = [{"entity": owner_of(project), "role": "OWNER"}] if owner else []
    if name in ("bucketOwnerRead", "bucketOwnerFullControl"):
        found += _team(project, "owners", "READER" if name == "bucketOwnerRead" else "OWNER")
    if name == "projectPrivate":
        found += _team(project, "owners", "OWNER") + _team(project, "editors", "OWNER")
        found += _team(project, "viewers", "READER")
    if name in ("publicRead", "authenticatedRead"):
        everybody = "allUsers" if name == "publicRead" else "allAuthenticatedUsers"
        found.append({"entity": everybody, "role": "READER"})
    return found


def owner_of(project: str) -> str:
    """Return the entity that owns new objects: the account that programs run as."""
    return f"user-{project_number(project)}-compute@developer.gserviceaccount.com"


def check_allowed(found: Sequence[Mapping[str, str]], settings: Mapping[str, Any]) -> None:
    """Check entries against the settings of their bucket. Raises `StorageError` 400, 412."""
    check_not_uniform(settings)
    if settings["iamConfiguration"]["publicAccessPrevention"] == "enforced":
        public = sorted({each["entity"] for each in found}.intersection(PUBLIC))
        if public:
            raise public_access_prevented(f"The access control list names {' and '.join(public)}.")


def check_not_uniform(settings: Mapping[str, Any]) -> None:
    """Check that a bucket has access control lists. Raises `StorageError` 400."""
    if settings["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"]:
        raise invalid(
            "Cannot use ACLs of a bucket or its objects when uniform bucket-level access is enabled. "
            "Read more at https://cloud.google.com/storage/docs/uniform-bucket-level-access"
        )


def changed(found: Entries, new: dict[str, str]) -> Entries:
    """Return the entries with a new one, which replaces its entity's."""
    return [*(each for each in found if each["entity"] != new["entity"]), new]


def without(found: Entries, entity: str) -> Entries:
    """Return the entries without one. Raises `StorageError` 404 if it is not among them."""
    of_entity(found, entity)
    return [each for each in found if each["entity"] != entity]


def of_entity(found: Entries, entity: str) -> dict[str, str]:
    """Return the entry of an entity. Raises `StorageError` 404."""
    for each in found:
        if each["entity"] == entity:
            return each
    raise StorageError(404, "notFound", f"The access control list has no entry for {entity}.")


def resource(kind: str, self_link: str, found: Mapping[str, str], **place: str) -> dict[str, Any]:
    """Return the resource of an entry. `place` are the names of its bucket and object."""
    entity, role = found["entity"], found["role"]
    shown: dict[str, Any] = {"kind": f"storage#{kind}", "entity": entity, "role": role}
    if place:
        shown |= {"id": "/".join([*place.values(), entity]), "selfLink": f"{self_link}/{entity}", **place}
    if team := _TEAM.fullmatch(entity):
        shown["projectTeam"] = {"team": team[1], "projectNumber": team[2]}
    kind_of_entity, _, rest = entity.partition("-")
    if kind_of_entity in ("user", "group") and "@" in rest:
        shown["email"] = rest
    elif kind_of_entity == "domain":
        shown["domain"] = rest
    shown["etag"] = hashlib.sha256(f"{entity} {role} {place}".encode()).hexdigest()[:16]
    return shown


def _team(project: str, team: str, role: str) -> Entries:
    return [{"entity": f"project-{team}-{project_number(project)}", "role": role}]
