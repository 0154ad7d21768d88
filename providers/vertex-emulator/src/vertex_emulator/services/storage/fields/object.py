"""The fields of an object resource that its owner chooses ("Objects"): checks, and effects of changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_emulator.kernel import times
from vertex_emulator.server.http.messages import Request
from vertex_emulator.services.storage.errors import invalid, unsupported
from vertex_emulator.services.storage.fields import access_lists, checks, parameters

_MAX_METADATA = 8 * 1024


def _line(path: str, value: object) -> str:
    """Check a string that is sent as a header of responses."""
    text = checks.text(path, value)
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in text):
        raise invalid(f"{path} must not have control characters.")
    return text


def _metadata(path: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise invalid(f"{path} must be an object whose values are strings.")
    if sum(len(key.encode()) + len(item.encode()) for key, item in value.items()) > _MAX_METADATA:
        raise invalid(f"{path} is larger than {_MAX_METADATA} bytes, keys and values together.")
    return dict(value)


def _retention(path: str, value: object) -> dict[str, Any] | None:
    sent = checks.record(
        path,
        value,
        {
            "mode": checks.one_of("Unlocked", "Locked"),
            "retainUntilTime": checks.moment,
            "retentionExpirationTime": checks.moment,  # sent by Google's client, and made by the service
        },
    )
    sent.pop("retentionExpirationTime", None)
    if not sent:
        return None
    for name in ("mode", "retainUntilTime"):
        if name not in sent:
            raise invalid(f"{path}.{name} is missing. A retention needs mode and retainUntilTime.")
    return sent


_SETTABLE: Mapping[str, checks.Check] = {
    "acl": lambda path, value: access_lists.entries(path, value, roles=access_lists.OBJECT_ROLES),
    "cacheControl": _line,
    "contentDisposition": _line,
    "contentEncoding": _line,
    "contentLanguage": _line,
    "contentType": _line,
    "customTime": checks.precise_moment,
    "eventBasedHold": checks.boolean,
    "metadata": _metadata,
    "retention": _retention,
    "storageClass": checks.storage_class,
    "temporaryHold": checks.boolean,
}
_OF_CONTENT = _SETTABLE.keys() - {"acl", "storageClass", "eventBasedHold", "temporaryHold", "retention"}
_NOT_SETTINGS = frozenset(
    {
        *("bucket", "componentCount", "crc32c", "etag", "generation", "hardDeleteTime", "id", "kind"),
        *("kmsKeyName", "md5Hash", "mediaLink", "metageneration", "name", "owner", "retentionExpirationTime"),
        *("selfLink", "size", "softDeleteTime", "timeCreated", "timeDeleted", "timeFinalized"),
        *("timeStorageClassUpdated", "updated"),
    }
)
"""Fields that the service sets. Clients send them back with their changes, and they are ignored."""


_KEPT = frozenset({"acl", "storageClass", "customTime"})
"""Fields that an update does not remove."""


def created(body: Mapping[str, Any], *, bucket: str, default_type: str | None = None) -> dict[str, Any]:
    """Return the settings of a new object from its resource. Raises `StorageError` 400."""
    if body.get("bucket", bucket) != bucket:
        raise invalid(
            f"The bucket of the resource, {body['bucket']!r}, must be that of the path, {bucket!r}."
        )
    settings = {} if default_type is None else {"contentType": default_type}
    for name, value in body.items():
        if name in _NOT_SETTINGS or value is None:
            continue
        if (kept := _check(name)(name, value)) is not None:
            settings[name] = kept
    return settings


def imported(settings: Mapping[str, Any], *, bucket: str) -> dict[str, Any]:
    """Return the settings of an object from another emulator, checked as for a new object."""
    kept = created(settings, bucket=bucket)
    if (key := settings.get("kmsKeyName")) is not None:
        kept["kmsKeyName"] = _line("kmsKeyName", key)
    return kept


def copied(settings: Mapping[str, Any], body: Mapping[str, Any], *, bucket: str) -> dict[str, Any]:
    """Return the settings of a copy, without holds and retention.

    If the body has any field about the content, it replaces all such fields of the source.
    """
    default = settings.get("contentType")
    sent = created(body, bucket=bucket, default_type=default)
    if any(body.get(name) is not None for name in _OF_CONTENT):
        return sent
    kept = {name: value for name, value in settings.items() if name in _OF_CONTENT}
    return {**kept, **{name: value for name, value in sent.items() if name != "contentType"}}


def patched(settings: Mapping[str, Any], body: object) -> dict[str, Any]:
    """Return the settings after a patch. Null removes a field or a key of `metadata`.

    Raises `StorageError`.
    """
    changed = dict(settings)
    for name, value in checks.document(body).items():
        if name in _NOT_SETTINGS:
            continue
        check = _check(name)
        if name == "storageClass" and str(value).upper() != settings.get(name):
            raise invalid("A patch cannot change the storage class of an object. Store the object again.")
        if name == "customTime" and name in settings:
            _later(settings[name], value)
        if name == "metadata" and isinstance(value, dict):
            merged = {**changed.get(name, {}), **value}
            value = {key: item for key, item in merged.items() if item is not None} or None
        kept = None if value is None else check(name, value)
        if kept is None:
            changed.pop(name, None)
        else:
            changed[name] = kept
    return changed


def replaced(settings: Mapping[str, Any], body: object) -> dict[str, Any]:
    """Return the settings after an update with a whole resource. Missing fields are removed."""
    sent = checks.document(body)
    missing = {name: None for name in _SETTABLE if name in settings and name not in _KEPT}
    changed = patched({**settings, "metadata": {}}, {**missing, **sent})
    if not changed.get("metadata"):
        changed.pop("metadata", None)
    return changed


def access_list_parameter(request: Request, name: str) -> dict[str, str]:
    """Return the predefined access control list of a new object, which `disk.soft_deletion` expands."""
    value = parameters.predefined_list(request, name, access_lists.OF_OBJECTS)
    return {} if value is None else {"predefinedAcl": value}


def encoding_parameter(request: Request) -> dict[str, str]:
    """Return the parameter contentEncoding of an upload, which overrides the resource's field."""
    value = request.parameter("contentEncoding")
    return {} if value is None else {"contentEncoding": _line("contentEncoding", value)}


def _check(name: str) -> checks.Check:
    if name not in _SETTABLE:
        raise unsupported(
            f"the field {name!r} of an object", f"Its fields are name, {', '.join(sorted(_SETTABLE))}."
        )
    return _SETTABLE[name]


def _later(old: str, new: object) -> None:
    if new is None or times.parse(checks.precise_moment("customTime", new)) < times.parse(old):
        raise invalid(f"customTime cannot be removed or set to an earlier time than {old}.")
