"""Staged files and their bucket, made by the engine's real provider process on an emulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan.plan import read as read_plan
from pulumi_vertex_training.providers import StagedFileProvider, StagedPackageProvider, StagingBucketProvider
from support.client.plugin import PluginProcess
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

BUCKET, FILE, PACKAGE = StagingBucketProvider(), StagedFileProvider(), StagedPackageProvider()
PLACE = {"endpoint": "emulator", "project": "local", "location": "us-central1"}


@pytest.fixture
def config(tmp_path: Path) -> Iterator[dict[str, str]]:
    data_dir = tmp_path / "emulator"
    launcher.ensure(data_dir)
    yield {"vertex-training:dataDir": str(data_dir)}
    emulator_reset.reset(data_dir)


def create(plugin: PluginProcess, provider: Any, declared: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    inputs, failures = plugin.check(provider, {**PLACE, **declared})
    assert failures == {}
    return plugin.create(provider, inputs)


def said(caught: pytest.ExceptionInfo[grpc.RpcError]) -> str:
    return str(caught.value.details())  # type: ignore[attr-defined]


def test_deleting_a_retained_file_fails_with_the_remedy(tmp_path: Path, config: dict[str, str]) -> None:
    (tmp_path / "data.csv").write_text("1,2,3\n")
    with PluginProcess(tmp_path, config=config) as deployment:
        create(deployment, BUCKET, {"name": "a-bucket", "retention_policy": {"retention_period": 3600.0}})
        staged = {"bucket": "a-bucket", "prefix": "files", "source": "data.csv"}
        id_, made = create(deployment, FILE, staged)
    with PluginProcess(tmp_path, config=config) as later, pytest.raises(grpc.RpcError) as caught:
        later.delete(FILE, id_, made)
    assert "cannot be deleted" in said(caught)
    assert "remove retention_policy, run `pulumi up`, and try again" in said(caught)


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "data").mkdir(parents=True)
    home.mkdir()
    (home / "id_rsa.py").write_text("a private key")
    (project / "train.py").symlink_to(home / "id_rsa.py")
    (project / "keys").symlink_to(home)
    (project / "data" / "inside.py").write_text("x = 1\n")
    (project / "inside.py").symlink_to(Path("data", "inside.py"))
    with PluginProcess(project, config={}) as plugin:

        def failures(provider: Any, source: str, **more: Any) -> str:
            declared = {**PLACE, "bucket": "a-bucket", "prefix": "files", "source": source, **more}
            return " ".join(map(str, plugin.check(provider, declared)[1].items()))

        for provider in (FILE, PACKAGE):
            for source in ("train.py", "keys/id_rsa.py", "./train.py", str(project / "train.py")):
                assert "is a link out of the project, to" in failures(provider, source), source
            for source in ("inside.py", "../home/id_rsa.py", str(home / "id_rsa.py")):
                assert failures(provider, source) == "", source
        assert "is a link out of the project" in failures(
            PACKAGE, "inside.py", extra_files={"a/b.py": "train.py"}
        )


def test_an_existing_bucket_is_refused_with_the_remedy(tmp_path: Path, config: dict[str, str]) -> None:
    with PluginProcess(tmp_path, config=config) as plugin:
        create(plugin, BUCKET, {"name": "a-bucket"})
        with pytest.raises(grpc.RpcError) as caught:
            create(plugin, BUCKET, {"name": "a-bucket"})
    assert said(caught).startswith(
        "Failure: bucket a-bucket: the name is taken, because bucket names are global"
    )
    assert "Choose another" in said(caught)
    assert "To manage the existing bucket, set adopt=True" in said(caught)
    assert "own it" not in said(caught)


def test_no_control_character_reaches_the_engine(tmp_path: Path) -> None:
    with PluginProcess(tmp_path, config={}) as plugin:
        declared = {**PLACE, "bucket": "a-bucket", "prefix": "files", "source": "\x1b]0;owned\x07.csv"}
        found = plugin.check(FILE, declared)[1]
    texts = [text for pair in found.items() for text in map(str, pair)]
    assert any(r"\x1b]0;owned\x07.csv does not exist" in text for text in texts)
    assert not any("\x1b" in text or "\x07" in text for text in texts)


def test_a_plan_names_the_files_of_a_package_that_changed(tmp_path: Path) -> None:
    """Check the words for a new version, and those for a state that has no list of its files yet."""
    folder = tmp_path / "trainer"
    folder.mkdir()
    for name in ("__init__.py", "task.py", "old.py"):
        (folder / name).write_text("x = 1\n")
    token = registry.type_token("StagedPackage")
    declared = {**PLACE, "bucket": "a-bucket", "prefix": "packages", "source": "trainer"}
    with PluginProcess(tmp_path, config={}) as plugin:
        old, _ = plugin.check(PACKAGE, declared)
        (folder / "task.py").write_text("x = 2\n")
        (folder / "new.py").write_text("x = 1\n")
        (folder / "old.py").unlink()
        new, _ = plugin.check(PACKAGE, {**declared, "requirements": ["numpy"]})

    def words(recorded: dict[str, Any]) -> tuple[str, ...]:
        state = {"urn": f"urn:pulumi:dev::digits::{token}::trainer"}
        step = {"op": "replace", **state, "oldState": {"inputs": recorded}, "newState": {"inputs": new}}
        (change,) = read_plan({"steps": [step]}).changes
        return change.changes

    files = "files: 1 changed (trainer/task.py), 1 added (trainer/new.py), 1 removed (trainer/old.py)"
    assert words(old) == (files, "requirements: none -> numpy")
    del old["__manifest"]
    assert f"sha256: {old['sha256']} -> {new['sha256']}" in words(old)
