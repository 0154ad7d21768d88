"""Manifests and indexes of both families, OCI and Docker schema 2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pulumi_vertex_training.images.dockerfile.rules import BASE_IMAGE
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.findings.problems import Problem

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"
BASE_NAME: Final = "org.opencontainers.image.base.name"
BASE_DIGEST: Final = "org.opencontainers.image.base.digest"

_OCI_LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_FOREIGN: Final = "application/vnd.oci.image.layer.nondistributable.v1.tar"
_LAYER_TYPES: Final = {
    "application/vnd.docker.image.rootfs.diff.tar": _OCI_LAYER,
    "application/vnd.docker.image.rootfs.diff.tar.gzip": f"{_OCI_LAYER}+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd": f"{_OCI_LAYER}+zstd",
    "application/vnd.docker.image.rootfs.foreign.diff.tar": _FOREIGN,
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip": f"{_FOREIGN}+gzip",
}


def canonical_json(value: object) -> bytes:
    """JSON in UTF-8 that is the same for the same value: sorted keys, no space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def oci_layer_type(media_type: str) -> str:
    """The OCI media type of a layer of either family; others stay as they are."""
    return _LAYER_TYPES.get(media_type, media_type)


def select_platform(index: bytes, platform: str) -> str:
    """The digest of the manifest for a platform ("linux/amd64") in an index or manifest list.

    A variant counts only where it is asked for, as in "linux/arm64/v8". Raises PackagingError that names the
    platforms there are.
    """
    entries = _entries(index)
    wanted = platform.split("/")
    for entry in entries:
        if _platform(entry)[: len(wanted)] == wanted:
            return str(entry["digest"])
    there = sorted({"/".join(_platform(entry)) for entry in entries} - {"unknown/unknown", ""})
    listed = ", ".join(there) or "none"
    message = f"has no manifest for {platform}; there are: {listed}. Choose one of them, or another image."
    raise PackagingError([BASE_IMAGE.broken("base_image", message)])


def _entries(index: bytes) -> list[Mapping[str, Any]]:
    try:
        entries = json.loads(index)["manifests"]
        return [entry for entry in entries if isinstance(entry["digest"], str)]
    except (ValueError, KeyError, TypeError) as error:
        message = "is answered with something that is no index of manifests. Push the image again."
        raise PackagingError([BASE_IMAGE.broken("base_image", message)]) from error


def _platform(entry: Mapping[str, Any]) -> list[str]:
    platform = entry.get("platform") or {}
    parts = [str(platform.get(key) or "") for key in ("os", "architecture", "variant")]
    return [part for part in parts if part]


def base_problems(
    manifest: Mapping[str, Any], config: Mapping[str, Any], *, place: str, name: str, platform: str
) -> list[Problem]:
    """Why an image cannot be built upon."""
    problems = []
    if "layers" not in manifest or "config" not in manifest:
        message = f"{name} is answered with something that is no image manifest. Push the image again."
        return [BASE_IMAGE.broken(place, message)]
    system, architecture = config.get("os", ""), config.get("architecture", "")
    if [system, architecture] != platform.split("/")[:2]:
        message = f"{name} is for {system}/{architecture}, not {platform}. Set the image's platform to that."
        problems.append(BASE_IMAGE.broken(place, message))
    if len((config.get("rootfs") or {}).get("diff_ids") or ()) != len(manifest["layers"]):
        message = (
            f"{name} has {len(manifest['layers'])} layers and another number of them in its configuration."
        )
        problems.append(BASE_IMAGE.broken(place, f"{message} Push the image again."))
    triggers = (config.get("config") or {}).get("OnBuild") or ()
    if triggers:
        message = f"{name} has ONBUILD triggers ({triggers[0]}), which would run here. Build it with docker."
        problems.append(BASE_IMAGE.broken(place, message))
    return problems
