"""The images that the emulator answers with where nobody pushed the base image itself."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys

import pytest

from vertex_emulator.replicas.images.stand_ins import LABEL, other_python, stand_in

HOST = f"3.{sys.version_info.minor}"
PREBUILT = "us-docker.pkg.dev/vertex-ai/training"


@pytest.mark.parametrize(
    ("repository", "tag"),
    [
        (f"{PREBUILT}/tf-cpu.2-17.py310", "latest"),
        ("europe-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6", "latest"),
        ("gcr.io/cloud-aiplatform/training/tf-gpu.2-11", "latest"),
        ("gcr.io/deeplearning-platform-release/tf2-gpu.2-8", "latest"),
        ("us-docker.pkg.dev/deeplearning-platform-release/gcr.io/base-cu113.py310", "m123"),
        ("docker.io/library/python", "3"),
        ("docker.io/library/python", "3.11"),
        ("docker.io/library/python", "3.11.7"),
        ("docker.io/library/python", "3.12-slim"),
        ("docker.io/library/python", "3.12-slim-bookworm"),
        ("docker.io/library/python", "3.12-bookworm"),
        ("docker.io/library/python", "slim"),
        ("docker.io/library/python", "latest"),
        ("us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver", "latest"),
    ],
)
def test_a_base_image_has_a_stand_in(repository: str, tag: str) -> None:
    found = stand_in(repository, tag)
    assert found is not None
    assert json.loads(found.blobs[0])["config"]["Labels"][LABEL] == f"{repository}:{tag}"


@pytest.mark.parametrize(
    ("repository", "tag"),
    [
        ("docker.io/library/python", "2.7"),
        ("docker.io/library/python", "3.11-alpine"),
        ("docker.io/library/python", "3.11-windowsservercore"),
        ("docker.io/library/python", "sha256:" + "0" * 64),
        ("docker.io/library/python3", "3.11"),
        ("docker.io/me/python", "3.11"),
        ("docker.io/library/debian", "12"),
        (f"{PREBUILT}/ray-cpu.2-9.py310", "latest"),
        ("us-docker.pkg.dev/local/vertex-ai/training", "latest"),
        ("us-docker.pkg.dev/deeplearning-platform-release", "latest"),
        ("evil.example/deeplearning-platform-release/tf", "latest"),
        ("", ""),
    ],
)
def test_any_other_image_has_none(repository: str, tag: str) -> None:
    assert stand_in(repository, tag) is None


def test_the_manifest_names_its_blobs() -> None:
    found = stand_in("docker.io/library/python", "3.11")
    assert found is not None
    manifest = json.loads(found.manifest)
    named = [manifest["config"], *manifest["layers"]]
    assert [(each["digest"], each["size"]) for each in named] == [
        ("sha256:" + hashlib.sha256(blob).hexdigest(), len(blob)) for blob in found.blobs
    ]


def test_the_layer_is_an_empty_archive() -> None:
    found = stand_in("docker.io/library/python", "3.11")
    assert found is not None
    assert gzip.decompress(found.blobs[1]) == bytes(1024)
    diff_ids = json.loads(found.blobs[0])["rootfs"]["diff_ids"]
    assert diff_ids == ["sha256:" + hashlib.sha256(bytes(1024)).hexdigest()]


def test_the_bytes_are_always_the_same() -> None:
    """Compare with another process: a digest that a client has recorded stays."""
    code = (
        "from vertex_emulator.replicas.images.stand_ins import stand_in\n"
        "print(*[blob.hex() for blob in stand_in('docker.io/library/python', '3.11').blobs])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = stand_in("docker.io/library/python", "3.11")
    assert found is not None
    assert done.stdout.split() == [blob.hex() for blob in found.blobs]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("docker.io/library/python:3.2", "3.2"),
        (f"docker.io/library/python:{HOST}", None),
        (f"docker.io/library/python:{HOST}.99-slim", None),
        ("docker.io/library/python:3", None),
        ("docker.io/library/python:latest", None),
        (f"{PREBUILT}/tf-cpu.2-17.py32:latest", "3.2"),
        (f"{PREBUILT}/tf-cpu.2-17:latest", None),
        (f"{PREBUILT}/tf-cpu.2-17.py{HOST.replace('.', '')}:latest", None),
    ],
)
def test_a_python_that_the_host_has_not(name: str, other: str | None) -> None:
    assert other_python(name) == other
