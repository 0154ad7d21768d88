"""Manifests and indexes, in the formats of OCI and of Docker (schema 2)."""

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
    """Encode a value as JSON in UTF-8 with sorted keys and no spaces: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def oci_layer_type(media_type: str) -> str:
    """Return the OCI media type of a Docker or OCI layer; any other type is returned unchanged."""
    return _LAYER_TYPES.get(media_type, media_type)


def select_platform(index: bytes, platform: str) -> str:
    """Return the digest of the manifest for a platform ("linux/amd64") in an index or manifest list.

    A variant counts only if `platform` has one, as in "linux/arm64/v8". Raises PackagingError if the index
    has no such platform; the message lists those that it has.
    """
    entries = _entries(index)
    wanted = platform.split("/")
    for entry in entries:
        if _platform(entry)[: len(wanted)] == wanted:
            return str(entry["digest"])
    there = sorted({"/".join(_platform(entry)) for entry in entries} - {"unknown/unknown", ""})
    listed = ", ".join(there) or "none"
    message = f"has no manifest for {platform}; it has: {listed}. Choose one of them, or another image."
    raise PackagingError([BASE_IMAGE.broken("base_image", message)])


def _entries(index: bytes) -> list[Mapping[str, Any]]:
    try:
        entries = json.loads(index)["manifests"]
        return [entry for entry in entries if isinstance(entry["digest"], str)]
    except (ValueError, KeyError, TypeError) as error:
        message = "the registry's answer is not an index of manifests. Push the image again."
        raise PackagingError([BASE_IMAGE.broken("base_image", message)]) from error


def _platform(entry: Mapping[str, Any]) -> list[str]:
    platform = entry.get("platform") or {}
    parts = [str(platform.get(key) or "") for key in ("os", "architecture", "variant")]
    return [part for part in parts if part]


def base_problems(
    manifest: Mapping[str, Any], config: Mapping[str, Any], *, place: str, name: str, platform: str
) -> list[Problem]:
    """Return the reasons why an image cannot be a base image."""
    problems = []
    if "layers" not in manifest or "config" not in manifest:
        message = f"{name}: the registry's answer is not an image manifest. Push the image again."
        return [BASE_IMAGE.broken(place, message)]
    system, architecture = config.get("os", ""), config.get("architecture", "")
    if [system, architecture] != platform.split("/")[:2]:
        message = f"{name} is for {system}/{architecture}, not {platform}. Set the image's platform to that."
        problems.append(BASE_IMAGE.broken(place, message))
    if len((config.get("rootfs") or {}).get("diff_ids") or ()) != len(manifest["layers"]):
        message = (
            f"{name} has {len(manifest['layers'])} layers, but its configuration lists a different number."
        )
        problems.append(BASE_IMAGE.broken(place, f"{message} Push the image again."))
    triggers = (config.get("config") or {}).get("OnBuild") or ()
    if triggers:
        message = f"{name} has ONBUILD triggers ({triggers[0]}), which would run here. Build it with docker."
        problems.append(BASE_IMAGE.broken(place, message))
    return problems
