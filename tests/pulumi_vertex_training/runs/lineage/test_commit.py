"""The git commit of a folder, with the real git."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pulumi_vertex_training.runs.lineage.commit import commit_of
from pulumi_vertex_training.runs.lineage.lineage import Commit

GIT = shutil.which("git") or ""
pytestmark = pytest.mark.skipif(not GIT, reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run([GIT, *own, *arguments], cwd=folder, capture_output=True, check=True, text=True)
    return done.stdout.strip()


def commit(folder: Path) -> Commit | None:
    return commit_of(folder, timeout=20)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    (made / "infra").mkdir(parents=True)
    (made / "infra" / "main.py").write_text("1")
    (made / ".gitignore").write_text("*.pyc\n")
    git(made, "init", "-q")
    git(made, "add", ".")
    git(made, "commit", "-qm", "one")
    return made


def test_a_clean_commit_is_that_of_each_folder_of_the_repository(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    (repository / "cache.pyc").touch()
    assert commit(repository) == commit(repository / "infra") == Commit(id=head, is_dirty=False)


@pytest.mark.parametrize("name", ["infra/main.py", "new.py"])
def test_a_changed_and_a_new_file_are_changes(repository: Path, name: str) -> None:
    (repository / name).write_text("2")
    found = commit(repository / "infra")
    assert found == Commit(id=git(repository, "rev-parse", "HEAD"), is_dirty=True)


def test_a_detached_head_and_a_shallow_clone_have_a_commit(repository: Path, tmp_path: Path) -> None:
    (repository / "infra" / "main.py").write_text("2")
    git(repository, "commit", "-qam", "two")
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), "shallow")
    head = git(repository, "rev-parse", "HEAD")
    assert commit(tmp_path / "shallow") == Commit(id=head, is_dirty=False)
    git(repository, "checkout", "-q", "HEAD~1")
    assert commit(repository) == Commit(id=git(repository, "rev-parse", "HEAD"), is_dirty=False)
    assert git(repository, "rev-parse", "HEAD") != head


def test_no_commit_no_repository_and_no_git_are_no_error(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty, outside = tmp_path / "empty", tmp_path / "outside"
    empty.mkdir()
    outside.mkdir()
    git(empty, "init", "-q")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert commit(empty) is None
    assert commit(outside) is None
    monkeypatch.setenv("PATH", str(outside))
    assert commit(repository) is None


def test_the_repository_of_a_hook_is_not_taken_for_the_folders(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(repository, "rev-parse", "HEAD")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert commit(repository) == Commit(id=head, is_dirty=False)
