"""Cloud Storage as Vertex AI mounts it: the object ``gs://bucket/x`` is the file ``/gcs/bucket/x``.

Source: Vertex AI documentation, "Read and write Cloud Storage files with Cloud Storage FUSE".
"""

from __future__ import annotations

__all__ = ["gcs_path", "gs_uri"]

_SCHEME = "gs://"
_MOUNT = "/gcs/"


def gcs_path(location: str) -> str:
    """``gs://bucket/x`` as the path ``/gcs/bucket/x``. A path of any kind is returned as it is.

    Raises ValueError for another scheme, a missing bucket, or a name that no file below the mount can
    have (with ``.`` or ``..`` between slashes).
    """
    if not location.startswith(_SCHEME):
        if "://" in location:
            raise ValueError(f"{location!r} is not a gs:// URI. Give gs://bucket/name or a path.")
        return location
    return _MOUNT + _checked(location, location[len(_SCHEME) :])


def gs_uri(location: str) -> str:
    """``/gcs/bucket/x`` as ``gs://bucket/x``. A gs:// URI is returned as it is.

    Raises ValueError for a path that is not below ``/gcs/``.
    """
    for prefix in (_SCHEME, _MOUNT):
        if location.startswith(prefix):
            return _SCHEME + _checked(location, location[len(prefix) :])
    raise ValueError(f"{location!r} is not below /gcs/, so it has no gs:// URI. Give /gcs/bucket/name.")


def _checked(location: str, name: str) -> str:
    parts = name.split("/")
    if not parts[0]:
        raise ValueError(f"{location!r} names no bucket. Give gs://bucket/name.")
    if "." in parts or ".." in parts:
        raise ValueError(f"{location!r} has . or .. as a part of its name. Write the full name.")
    return name
