"""`vertex-training emulator` is `vertex-emulator`, except that JOB may be a resource of a stack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pulumi_vertex_training.cli import parser
from support.emulated.command import Ended, environment, run
from support.emulated.job_emulator import SLEEP, job, job_id, pool
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control
from vertex_emulator.command import main
from vertex_emulator.daemon import reset as emulator_reset
from vertex_training.command_line.arguments import Parser

JOBS = "/v1/projects/local/locations/us-central1/customJobs"


def commands(root: Parser, prog: str) -> dict[str, tuple[str, str | None, list[object]]]:
    """Return function, summary and arguments of each command below `prog`, without JOB."""
    return {
        each.prog.removeprefix(prog): (
            each.get_default("handler"),
            each.description,
            [
                (one.option_strings, one.metavar, one.nargs, one.choices and list(one.choices), one.default)
                for one in each.arguments()
                if one.dest not in ("job", "stack")
            ],
        )
        for each in root.each()
        if each.prog.startswith(f"{prog} ")
    }


def test_all_commands_have_the_same_names_functions_and_options() -> None:
    alias = commands(parser.build(), "vertex-training emulator")
    own = commands(main.build(), "vertex-emulator")
    assert set(own) - set(alias) == {" run"}
    for name, (function, summary, arguments) in alias.items():
        expected = own[name]
        assert (function, arguments) == (expected[0], expected[2]), name
        assert summary == (expected[1] or "").replace("vertex-emulator ", "vertex-training emulator "), name
    assert len(alias) > 40


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Control, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("alias")
    emulator = launcher.ensure(folder / "data")
    env = environment(folder, VERTEX_TRAINING_DATA_DIR=str(emulator.data_dir))
    yield Control(url=emulator.url, token=emulator.token), env
    emulator_reset.reset(folder / "data")


def kill(name: str, *more: str, env: dict[str, str]) -> Ended:
    return run("emulator", "replica", "kill", name, "workerpool0-0", "--times", "2", *more, env=env)


def test_a_job_is_found_by_its_resource_and_stack(control: tuple[Control, dict[str, str]]) -> None:
    controls, env = control
    controls.set_start_delay(3600)
    owner = {"pulumi-project": "other", "pulumi-stack": "dev", "pulumi-resource": "mxnet"}
    made = controls.call("POST", JOBS, {**job(pool(SLEEP), name="nets"), "labels": owner})
    elsewhere = kill("mxnet", env={**env, "PULUMI_STACK": "dev"})
    assert (elsewhere.code, elsewhere.out) == (2, "")
    assert "Stack digits/dev has no job 'mxnet'." in elsewhere.err
    command = "vertex-training emulator replica kill other/dev/mxnet workerpool0-0 --times 2\n"
    assert command in elsewhere.err
    found = kill("nets", "--stack", "other/dev", "--json", env=env).json
    assert (found["job"], found["kind"]) == (job_id(str(made["name"])), "kill")
    assert "Did you mean 'mxnet'?" in kill("mxnett", env=env).err


def test_printed_commands_are_those_of_the_alias(tmp_path: Path) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(tmp_path / "none"))
    said = "Start it with `vertex-training emulator start`"
    assert said in run("emulator", "status", env=env).out
    assert said in run("emulator", "quota", "list", env=env).err
    (error,) = run("emulator", "env", "--json", env=env).json["errors"]
    assert said in error["message"]
