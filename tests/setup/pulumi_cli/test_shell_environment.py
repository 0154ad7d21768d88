"""The environment of `pulumi` on a clone, and `source ./activate` in real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scripts import environment
from scripts.layout import Layout
from scripts.layout import layout as layout_of
from scripts.pulumi_cli.installed import PulumiCli

QUIET = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"]}
SHELLS = [[found, *options] for name, options in QUIET.items() if (found := shutil.which(name))]


@pytest.fixture
def cli(tmp_path: Path) -> PulumiCli:
    return PulumiCli(folder=tmp_path / "cache" / "bin", version="3.259.0", ours=True)


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a user with their own Pulumi, which must not change."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PULUMI_HOME": str(tmp_path / "own"),
        "PULUMI_BACKEND_URL": "s3://their-state",
        "PULUMI_STACK": "production",
        "PULUMI_PYTHON_CMD": "python2",
        environment.BYTECODE_VARIABLE: "1",
        "PULUMI_CONFIG_PASSPHRASE": "their secret",
    }


def test_the_users_own_pulumi_is_unchanged(layout: Layout, cli: PulumiCli, user: dict[str, str]) -> None:
    env = environment.pulumi_environment(layout, cli, environ=user)
    assert env == {
        "HOME": user["HOME"],
        "PATH": f"{layout.venv}/bin:{cli.folder}:/usr/bin:/bin",
        "VIRTUAL_ENV": str(layout.venv),
        "PULUMI_HOME": str(layout.local / "pulumi-home"),
        "PULUMI_BACKEND_URL": f"file://{layout.local}/state?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": "local",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_OPTION_SKIP_CONFIG_VALIDATION": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "VERTEX_TRAINING_DATA_DIR": str(layout.local / "emulator"),
    }
    assert (layout.local / "state").is_dir()


def test_another_stack_keeps_the_users_passphrase_and_plugins(
    layout: Layout, cli: PulumiCli, user: dict[str, str]
) -> None:
    env = environment.pulumi_environment(layout, cli, stack="dev", environ=user)
    assert env["PULUMI_CONFIG_PASSPHRASE"] == "their secret"
    assert env["PULUMI_STACK"] == "dev"
    assert "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION" not in env


def test_a_backend_chosen_by_the_user_keeps_their_home(
    layout: Layout, cli: PulumiCli, user: dict[str, str]
) -> None:
    user[environment.BACKEND_VARIABLE] = "gs://state-of-the-team"
    env = environment.pulumi_environment(layout, cli, stack="dev", environ=user)
    assert env["PULUMI_BACKEND_URL"] == "gs://state-of-the-team"
    assert env["PULUMI_HOME"] == user["PULUMI_HOME"]
    assert not layout.local.exists()


def test_a_cli_on_path_keeps_its_position(layout: Layout, cli: PulumiCli) -> None:
    changed = environment.settings(layout, replace(cli, ours=False), environ={"PATH": "/usr/bin:/bin"})
    assert changed["PATH"] == f"{layout.venv}/bin:/usr/bin:/bin"


def test_the_cache_folder_follows_the_xdg_rules(root: Path) -> None:
    assert layout_of(environ={"XDG_CACHE_HOME": "/c"}).cache == Path("/c/vertex-training")
    assert layout_of(environ={"XDG_CACHE_HOME": "relative"}).cache == Path.home() / ".cache/vertex-training"
    assert layout_of(environ={}).root == root


def variables(output: str) -> dict[str, str]:
    own = ("_", "LOGNAME", "SHLVL", "PWD", "OLDPWD")
    pairs = (line.partition("=") for line in output.split("\0") if line)
    return {name: value for name, _, value in pairs if name not in own}


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_the_shell_code_sets_and_restores_the_environment(
    shell: list[str], tmp_path: Path, cli: PulumiCli, user: dict[str, str]
) -> None:
    awkward = tmp_path / "it's a $(clone)"
    layout = Layout(root=awkward, local=awkward / ".local", cache=tmp_path / "cache")
    code = environment.shell_code(layout, cli, environ=user)
    gone = "type deactivate >/dev/null 2>&1 && printf STILL=1"
    script = f"{code}\nenv -0; printf '===='; deactivate; env -0; {gone}"
    done = subprocess.run([*shell, "-c", script], env=user, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    during, after = done.stdout.split("====")
    assert variables(during) == environment.pulumi_environment(layout, cli, environ=user)
    assert variables(after) == user


def test_activate_asks_to_be_sourced(root: Path) -> None:
    done = subprocess.run(["bash", root / "activate"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "source ./activate" in done.stderr


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: Path(shell[0]).name)
def test_activate_runs_the_chore_of_its_own_clone(shell: list[str], root: Path, tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    (clone / "scripts").mkdir(parents=True)
    shutil.copy(root / "activate", clone)
    (clone / "scripts" / "chore").write_text("#!/bin/sh\necho \"export ASKED='$*'\"\n")
    (clone / "scripts" / "chore").chmod(0o755)
    script = (
        f"cd / && STACK=dev source '{clone}/activate' && echo \"$ASKED\" && set | grep '^_vertex_training'"
    )
    done = subprocess.run([*shell, "-c", script], env=dict(os.environ), capture_output=True, text=True)
    assert done.stdout == "activate --stack dev\n"
    assert done.stderr == ""
