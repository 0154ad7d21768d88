"""`vertex-training plugin install`: the launcher is where Pulumi looks for plugins, and starts the plugin."""

from __future__ import annotations

import json
import pwd
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from pulumi_vertex_training import plugin_folder
from pulumi_vertex_training.cli.main import main
from vertex_training import __version__


def test_the_launcher_starts_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    assert main(["plugin", "install", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    program = (
        tmp_path / "plugins" / f"resource-vertex-training-v{__version__}" / "pulumi-resource-vertex-training"
    )
    assert found == {"name": "vertex-training", "version": __version__, "program": str(program)}
    started = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert int(started.stdout.readline()) > 0
    started.terminate()
    started.communicate()


def test_a_program_names_a_plugin_that_is_missing_or_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    remedy = "Run `vertex-training plugin install`."
    assert plugin_folder.missing() == f"the plugin vertex-training is not installed. {remedy}"
    older = plugin_folder.program_of(tmp_path, "0.0.1")
    older.parent.mkdir(parents=True)
    older.touch()
    assert "has version 0.0.1, this program has version" in plugin_folder.missing()
    assert main(["plugin", "install"]) == 0
    assert not plugin_folder.missing()


def test_it_is_installed_where_each_build_of_the_cli_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed, home = tmp_path / "listed", tmp_path / "home"
    listed.mkdir()
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_dir=str(listed)))
    assert main(["plugin", "install"]) == 0
    assert capsys.readouterr().out.count("is installed: ") == 2
    for folder in (listed, home):
        assert len(list(folder.glob(".pulumi/plugins/*/pulumi-resource-vertex-training"))) == 1


def test_a_launcher_whose_python_is_gone_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone" / "python"))
    assert main(["plugin", "install", "--pulumi-home", str(tmp_path)]) == 0
    program = capsys.readouterr().out.strip().rpartition(" ")[2]
    ended = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "run 'vertex-training plugin install' again" in ended.stderr


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["plugin", "install", "--pulumi-home", str(tmp_path / "file")]) == 1
    assert "The plugin cannot be written" in capsys.readouterr().err
