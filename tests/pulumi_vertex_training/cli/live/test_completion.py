"""Completion in a real shell: the script of `vertex-training completion` in bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.views import target
from support.emulated.command import HANGS, Ended, environment, run
from support.services.training import job
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

BIN = Path(sys.executable).parent
ASK = r"""
eval "$(vertex-training completion bash)"
COMP_WORDS=($LINE)
[[ "$LINE" == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_TYPE=9
_python_argcomplete vertex-training
printf '%s\n' "${COMPREPLY[@]}"
"""
"""Do as bash does at the key for completion, after the line in $LINE."""


@dataclass(frozen=True, kw_only=True)
class Shell:
    """A folder with an emulator and jobs, in which a shell completes."""

    env: dict[str, str]
    folder: Path
    ids: tuple[str, ...]

    def __call__(self, line: str) -> list[str]:
        done = subprocess.run(
            ["bash", "--norc", "-c", ASK],
            env={**self.env, "LINE": line},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=HANGS,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return [word.rstrip(" ") for word in done.stdout.splitlines() if word.strip()]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("completion")
    data_dir = folder / "emulator"
    launcher.ensure(data_dir)
    try:
        endpoint = target.resolve(target.Choice(data_dir=data_dir), {})
        owner = {"pulumi-project": "digits", "pulumi-stack": "dev", "pulumi-resource": "train"}
        labels = {**owner, "vertex-training-run": "aaaa-1"}
        names = ("digits", "$(touch owned)", "a b", "x\x1b]0;owned\x07")
        made = [custom_jobs.create(endpoint, job(name, "pass", labels=labels)) for name in names]
        (folder / "job.yaml").write_text("{}")
        (folder / "stack").mkdir()
        env = environment(folder, VERTEX_TRAINING_DATA_DIR=str(data_dir))
        env["PATH"] = f"{BIN}{os.pathsep}{env['PATH']}"
        yield Shell(env=env, folder=folder, ids=tuple(one.job_id for one in made))
    finally:
        emulator_reset.reset(data_dir)


def test_commands_options_and_choices_are_completed(shell: Shell) -> None:
    assert shell("vertex-training wat") == ["watch"]
    assert {"top", "watch", "jobs", "emulator", "completion"} <= set(shell("vertex-training "))
    found = ["stale-objects", "start", "start-delay", "status"]
    assert sorted(shell("vertex-training emulator sta")) == found
    assert shell("vertex-training explain --s") == ["--svg"]
    assert sorted(shell("vertex-training jobs --kind t")) == ["training-pipeline", "tuning-job"]


def test_files_and_folders_are_completed_where_a_file_is_wanted(shell: Shell) -> None:
    assert shell("vertex-training explain jo") == ["job.yaml"]
    assert shell("vertex-training plan --cwd st") == ["stack/"]
    assert shell("vertex-training status --project jo") == []


def test_jobs_of_the_emulator_are_completed_but_no_name_that_a_shell_would_obey(shell: Shell) -> None:
    names = ["train", "digits", "digits/dev/train"]
    assert sorted(shell("vertex-training status ")) == sorted([*names, *shell.ids])
    assert sorted(shell("vertex-training watch dig")) == ["digits", "digits/dev/train"]
    assert shell("vertex-training runs tr") == ["train"]
    assert shell("vertex-training cancel train --stack d") == ["digits/dev"]
    assert not (shell.folder / "owned").exists()


def test_without_an_emulator_nothing_is_said(shell: Shell, tmp_path: Path) -> None:
    other = Shell(env={**shell.env, "VERTEX_TRAINING_DATA_DIR": str(tmp_path)}, folder=tmp_path, ids=())
    assert other("vertex-training status dig") == []


def test_each_shell_gets_a_script_that_it_accepts(shell: Shell) -> None:
    for name in ("bash", "zsh", "fish"):
        ended: Ended = run("completion", name, env=shell.env)
        assert (ended.code, ended.err) == (0, "")
        document = run("completion", name, "--json", env=shell.env).json
        assert (document["shell"], document["script"].strip()) == (name, ended.out.strip())
        found = shutil.which(name)
        if found is not None:
            subprocess.run([found, "-n", "/dev/stdin"], input=ended.out, text=True, check=True)
    wrong = run("completion", "tcsh", env=shell.env)
    assert (wrong.code, wrong.out) == (2, "")
