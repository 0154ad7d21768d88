"""A small repository as the folder of programs: each run asks git for the state of the whole working tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def _small_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "one"], cwd=folder, check=True)
    return folder


@pytest.fixture(autouse=True)
def _in_the_small_repository(_small_repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_small_repository)
