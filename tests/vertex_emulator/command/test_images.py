"""The command and the emulator's container registry."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import urlsplit

from support.emulated.emulator import running
from support.emulated.registries.registry import RegistryClient
from vertex_emulator.client import addresses, launcher
from vertex_emulator.daemon import reset as emulator_reset


def test_the_environment_names_the_credentials(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        found = launcher.find(tmp_path / "data")
        assert found is not None
        values = addresses.variables(found, project="p", location="us-central1", environment={})
        auths = json.loads(Path(values["REGISTRY_AUTH_FILE"]).read_bytes())["auths"]
        sent = base64.b64decode(auths[urlsplit(daemon.url).netloc]["auth"]).decode()
        assert sent == f"oauth2accesstoken:{daemon.token}"


def test_a_reset_removes_images(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        RegistryClient(daemon.url, daemon.token, "gcr.io/a/b").push_image("v1")
    emulator_reset.reset(tmp_path / "data")
    assert not (tmp_path / "data" / "registry").exists()
    with running(tmp_path / "data") as daemon:
        again = RegistryClient(daemon.url, daemon.token, "gcr.io/a/b")
        assert again.ask("GET", "manifests/v1").status == 404


def test_a_second_reset_finds_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        RegistryClient(daemon.url, daemon.token, "gcr.io/a/b").push_image("v1")
    assert emulator_reset.reset(tmp_path / "data").deleted
    assert not emulator_reset.reset(tmp_path / "data").deleted
