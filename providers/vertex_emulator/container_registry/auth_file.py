"""The file with which podman, buildah, skopeo, oras and docker know the emulator's token without a login."""

from __future__ import annotations

import base64
import json
from urllib.parse import urlsplit

from vertex_emulator.kernel.data_folder import DataFolder, write_private

USER = "oauth2accesstoken"
"""As at Artifact Registry ("Configure authentication to Artifact Registry for Docker")."""


def write_auth_file(folder: DataFolder, *, url: str, token: str) -> None:
    """Write it for the address at which the emulator answers now. Raises `DataFolderError`."""
    port = urlsplit(url).port
    entry = {"auth": base64.b64encode(f"{USER}:{token}".encode()).decode("ascii")}
    value = {"auths": {f"{host}:{port}": entry for host in ("127.0.0.1", "localhost")}}
    folder.registry_auth.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(folder.registry_auth, json.dumps(value, indent=2).encode("utf-8") + b"\n")
