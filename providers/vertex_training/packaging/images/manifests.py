"""Manifests and indexes of both families, OCI and Docker schema 2."""

from __future__ import annotations


def select_platform(index: bytes, platform: str) -> str:
    """The digest of the manifest for a platform ("linux/amd64") in an index or manifest list.

    Raises PackagingError that names the platforms there are.
    """
    raise NotImplementedError
