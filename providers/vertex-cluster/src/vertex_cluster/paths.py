"""Paths of Cloud Storage objects in a replica: ``gs://bucket/x`` is the file ``/gcs/bucket/x``.

Source: Vertex AI documentation, "Read and write Cloud Storage files with Cloud Storage FUSE".
"""

from __future__ import annotations

__all__ = ["gcs_path", "gs_uri"]

_SCHEME = "gs://"
_MOUNT = "/gcs/"


def gcs_path(location: str) -> str:
    """Return the path ``/gcs/bucket/x`` of ``gs://bucket/x``. Paths are returned unchanged.

    Raises ValueError for another scheme, a missing bucket, or a name with ``.`` or ``..`` between slashes,
    which no file below the mount can have.
    """
    if not location.startswith(_SCHEME):
        if "://" in location:
            raise ValueError(f"{location!r} is not a gs:// URI. Give gs://bucket/name or a path.")
        return location
    return _MOUNT + _checked(location, location[len(_SCHEME) :])


def gs_uri(location: str) -> str:
    """Return the URI ``gs://bucket/x`` of ``/gcs/bucket/x``. gs:// URIs are returned unchanged.

    Raises ValueError if the path is not below ``/gcs/``.
    """
    for prefix in (_SCHEME, _MOUNT):
        if location.startswith(prefix):
            return _SCHEME + _checked(location, location[len(prefix) :])
    raise ValueError(f"{location!r} is not below /gcs/, so it has no gs:// URI. Give /gcs/bucket/name.")


def _checked(location: str, name: str) -> str:
    parts = name.split("/")
    if not parts[0]:
        raise ValueError(f"{location!r} has no bucket. Give gs://bucket/name.")
    if "." in parts or ".." in parts:
        raise ValueError(f"{location!r} has . or .. as a part of its name. Write the full name.")
    return name
