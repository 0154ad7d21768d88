"""The fields of an object resource that its owner chooses ("Objects")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vertex_training.emulator.http import Request
from vertex_training.emulator.storage import fields
from vertex_training.emulator.storage.errors import invalid, unsupported

_MAX_METADATA = 8 * 1024


def _line(path: str, value: Any) -> str:
    """Text that can be a header of the answer."""
    text = fields.text(path, value)
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in text):
        raise invalid(f"{path} must not have control characters.")
    return text


def _metadata(path: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise invalid(f"{path} has to be an object whose values are strings.")
    if sum(len(key.encode()) + len(item.encode()) for key, item in value.items()) > _MAX_METADATA:
        raise invalid(f"{path} is larger than {_MAX_METADATA} bytes, keys and values together.")
    return dict(value)


_SETTABLE: Mapping[str, fields.Check] = {
    "cacheControl": _line,
    "contentDisposition": _line,
    "contentEncoding": _line,
    "contentLanguage": _line,
    "contentType": _line,
    "customTime": fields.moment,
    "metadata": _metadata,
    "storageClass": fields.storage_class,
}
_NOT_SETTINGS = frozenset({"name", "bucket", "crc32c", "md5Hash", "kind"})


def created(body: Mapping[str, Any], *, bucket: str, default_type: str) -> dict[str, Any]:
    """The settings of a new object from its resource. Raises `StorageError` 400, 501."""
    if body.get("bucket", bucket) != bucket:
        raise invalid(
            f"The bucket of the resource, {body['bucket']!r}, is not the one of the path, {bucket!r}."
        )
    settings = {"contentType": default_type}
    for name, value in body.items():
        if name in _NOT_SETTINGS or value is None:
            continue
        settings[name] = _check(name)(name, value)
    return settings


def patched(settings: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """The settings after a patch: null removes a field or a key of `metadata`. Raises `StorageError`."""
    changed = dict(settings)
    for name, value in fields.document(body).items():
        check = _check(name)
        if name == "storageClass" and value != settings.get(name):
            raise invalid("The storage class of an object is not changed by a patch. Store the object again.")
        if name == "customTime" and name in settings:
            _later(settings[name], value)
        if name == "metadata" and isinstance(value, dict):
            merged = {**changed.get(name, {}), **value}
            value = {key: item for key, item in merged.items() if item is not None} or None
        if value is None:
            changed.pop(name, None)
        else:
            changed[name] = check(name, value)
    return changed


def encoding_parameter(request: Request) -> dict[str, str]:
    """The parameter contentEncoding of an upload, which counts for more than the resource's field."""
    value = request.parameter("contentEncoding")
    return {} if value is None else {"contentEncoding": _line("contentEncoding", value)}


def _check(name: str) -> fields.Check:
    if name not in _SETTABLE:
        raise unsupported(
            f"the field {name!r} of an object", f"It takes name, {', '.join(sorted(_SETTABLE))}."
        )
    return _SETTABLE[name]


def _later(old: str, new: Any) -> None:
    if new is None or fields.moment("customTime", new) < old:
        raise invalid(f"customTime cannot be removed or set to an earlier time than {old}.")
