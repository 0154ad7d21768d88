"""Paths and names of images at Google's hosts, and those that they have in the emulator."""

from __future__ import annotations

import re

BATCH = "/batch/storage/v1"

_PROJECT = r"[^/.]+|[^/]+\.[^/]+/[^/]+"
_IMAGE_PATH = re.compile(rf"/v2/(?P<project>{_PROJECT})/(?P<rest>.+/(?:manifests|blobs|tags|referrers)/.*)")
_REGISTRY = "-docker.pkg.dev"
_GCR_LOCATIONS = {"gcr.io": "us", "us.gcr.io": "us", "eu.gcr.io": "europe", "asia.gcr.io": "asia"}


def google_path(host: str, path: str) -> str:
    """Return the emulator's path for a path of a host of Google.

    BUCKET.storage.googleapis.com has the objects of one bucket. The names of images begin with their host in
    the emulator; images of gcr.io are in the repository `gcr.io` of Artifact Registry.
    """
    if host == "oauth2.googleapis.com":
        return f"/oauth2/v4{path}"
    if path == f"/{BATCH}":  # Google's library for Java
        return BATCH
    if host.endswith(".storage.googleapis.com"):
        return f"/{host.removesuffix('.storage.googleapis.com')}{path}"
    registry = registry_of(host)
    # Addresses that the emulator has returned, such as upload addresses, begin with the host already.
    if registry is None or path.startswith(f"/v2/{registry}/"):
        return path
    if (image := _IMAGE_PATH.fullmatch(path)) is None:
        return path
    middle = f"{host}/" if host in _GCR_LOCATIONS else ""
    return f"/v2/{registry}/{image['project']}/{middle}{image['rest']}"


def registry_of(host: str) -> str | None:
    """Return the host that begins the names of images at a host of Google, or None if it has no images."""
    legacy = _GCR_LOCATIONS.get(host)
    registry = f"{legacy}{_REGISTRY}" if legacy else host
    return registry if registry.endswith(_REGISTRY) else None


def name_at(host: str, name: str) -> str | None:
    """Return the name that an image of the emulator has at a host, or None if that host does not have it.

    The emulator's own address has all images.
    """
    registry = registry_of(host)
    if registry is None:
        return name
    if not name.startswith(f"{registry}/"):
        return None
    inner = name.removeprefix(f"{registry}/")
    if host not in _GCR_LOCATIONS:
        return inner
    match = re.fullmatch(rf"({_PROJECT})/{re.escape(host)}/(.+)", inner)
    return f"{match[1]}/{match[2]}" if match else None
