"""The commands of gsutil on gs://, with the emulator's key in its configuration."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home folder with gsutil's configuration."""
    home = tmp_path_factory.mktemp("home")
    (home / ".boto").write_text(
        f"[Credentials]\ngs_service_key_file = {os.environ['GOOGLE_APPLICATION_CREDENTIALS']}\n"
        f"[Boto]\nca_certificates_file = {os.environ['SSL_CERT_FILE']}\n"
        "[GSUtil]\ndefault_project_id = local\nsoftware_update_check_period = 0\n"
    )
    return home


@pytest.fixture
def bucket(home: Path, request: pytest.FixtureRequest) -> str:
    name = f"gs://of-gsutil-{request.node.name.replace('_', '-')}"
    gsutil(home, "mb", "-l", "us-central1", name)
    return name


def gsutil(home: Path, *arguments: str | Path, fails: bool = False, given: str | None = None) -> str:
    """Run gsutil. Return its output, or what it reports of its failure."""
    done = subprocess.run(
        ["gsutil", *arguments],
        env={**os.environ, "HOME": str(home), "BOTO_CONFIG": str(home / ".boto")},
        capture_output=True,
        text=True,
        input=given,
        timeout=100,
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def test_copy_and_list(home: Path, bucket: str, tmp_path: Path) -> None:
    (tmp_path / "a ä.txt").write_text("hello")
    gsutil(home, "cp", tmp_path / "a ä.txt", f"{bucket}/x/a ä.txt")
    assert gsutil(home, "cat", f"{bucket}/x/a ä.txt") == "hello"
    assert gsutil(home, "ls", "-r", bucket).split("\n")[1] == f"{bucket}/x/a ä.txt"
    gsutil(home, "cp", "-", f"{bucket}/of-a-pipe", given="piped")
    gsutil(home, "cp", f"{bucket}/of-a-pipe", f"{bucket}/copy")
    gsutil(home, "mv", f"{bucket}/copy", f"{bucket}/moved")
    assert gsutil(home, "ls", bucket).split() == [f"{bucket}/moved", f"{bucket}/of-a-pipe", f"{bucket}/x/"]
    assert "Content-Type" in gsutil(home, "stat", f"{bucket}/moved")
    gsutil(home, "cp", f"{bucket}/moved", tmp_path / "back")
    assert (tmp_path / "back").read_text() == "piped"
    gsutil(home, "rm", "-r", bucket)
    assert "404" in gsutil(home, "ls", bucket, fails=True)


def test_rsync(home: Path, bucket: str, tmp_path: Path) -> None:
    for name in ("a", "b/c", "b/d"):
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_text(name)
    gsutil(home, "-m", "rsync", "-r", tmp_path / "from", bucket)
    (tmp_path / "from" / "b" / "d").unlink()
    gsutil(home, "rsync", "-r", "-d", tmp_path / "from", bucket)
    (tmp_path / "to").mkdir()
    gsutil(home, "rsync", "-r", bucket, tmp_path / "to")
    found = sorted(
        str(path.relative_to(tmp_path / "to")) for path in (tmp_path / "to").rglob("*") if path.is_file()
    )
    assert found == ["a", "b/c"]


def test_a_large_file(home: Path, bucket: str, tmp_path: Path) -> None:
    data = os.urandom(1 << 20) * 24
    (tmp_path / "large").write_bytes(data)
    options = ("-o", "GSUtil:parallel_composite_upload_threshold=8M", "-o", "GSUtil:check_hashes=always")
    gsutil(home, *options, "cp", tmp_path / "large", f"{bucket}/large")
    gsutil(
        home, "-o", "GSUtil:sliced_object_download_threshold=8M", "cp", f"{bucket}/large", tmp_path / "back"
    )
    assert (tmp_path / "back").read_bytes() == data
    assert gsutil(home, "ls", bucket).split() == [f"{bucket}/large"]


def test_settings_of_a_bucket(home: Path, bucket: str, tmp_path: Path) -> None:
    gsutil(home, "label", "ch", "-l", "team:a", bucket)
    assert '"team": "a"' in gsutil(home, "label", "get", bucket)
    gsutil(home, "versioning", "set", "on", bucket)
    gsutil(home, "cp", "-", f"{bucket}/o", given="1")
    gsutil(home, "cp", "-", f"{bucket}/o", given="2")
    assert gsutil(home, "ls", "-a", bucket).count("#") == 2
    (tmp_path / "rules").write_text('{"rule": [{"action": {"type": "Delete"}, "condition": {"age": 3}}]}')
    gsutil(home, "lifecycle", "set", tmp_path / "rules", bucket)
    assert '"age": 3' in gsutil(home, "lifecycle", "get", bucket)
    assert "Versioning enabled:\t\tTrue" in gsutil(home, "ls", "-L", "-b", bucket)


def test_metadata_and_compose(home: Path, bucket: str) -> None:
    for name in ("a", "b"):
        gsutil(home, "-h", "x-goog-meta-kind:x", "cp", "-", f"{bucket}/{name}", given=name)
    gsutil(home, "compose", f"{bucket}/a", f"{bucket}/b", f"{bucket}/ab")
    assert gsutil(home, "cat", f"{bucket}/ab") == "ab"
    gsutil(home, "setmeta", "-h", "Cache-Control:no-store", f"{bucket}/a")
    found = gsutil(home, "stat", f"{bucket}/a")
    assert "no-store" in found and "kind" in found


def test_what_is_missing_or_refused(home: Path, bucket: str) -> None:
    assert "No URLs matched" in gsutil(home, "cat", f"{bucket}/none", fails=True)
    account = "vertex-training-emulator@local.iam.gserviceaccount.com"
    refused = gsutil(home, "hmac", "create", account, fails=True)
    assert "HMAC keys" in refused and "Retry" not in refused
