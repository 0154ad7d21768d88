"""Names, log lines and files that others wrote cannot control the terminal, and secrets stay hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.custom_job.gateway import GATEWAY
from pulumi_vertex_training.views import target
from support.emulated.command import Ended, environment, run, run_on_terminal
from support.services.training import job
from vertex_emulator.daemon import reset as emulator_reset
from vertex_training.findings.words import visible_json

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
"""Set the title, clear the screen, change the colour with one C1 character, and turn the direction."""

HOSTILE = re.compile("\x1b(?!\\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e]")
"""Characters that no terminal may get: all control characters but line ends, tabs and our own colours."""

SECRET = "hf_0123456789abcdef"
PROGRAM = f"print({ATTACK!r} + 'loss 0.25')"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The output of each command."""

    on_terminal: Mapping[str, Ended]
    in_pipe: Mapping[str, Ended]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("hostile")
    env = environment(folder, VERTEX_TRAINING_DATA_DIR=str(folder / "emulator"))
    assert run("emulator", "start", env=env).code == 0
    endpoint: Endpoint = target.resolve(target.Choice(data_dir=folder / "emulator"), {})
    wire = job(f"digits{ATTACK}", PROGRAM)
    pool = wire["jobSpec"]["workerPoolSpecs"][0]
    pool["containerSpec"]["env"] = [{"name": "HF_TOKEN", "value": SECRET}]
    made: JobRecord = GATEWAY.create(endpoint, wire)
    file = folder / "job.yaml"
    file.write_text(json.dumps({"workerPoolSpecs": [{f"x{ATTACK}": f"{ATTACK}"}], f"{ATTACK}": 1}))
    run("logs", made.job_id, "--follow", env=env)
    commands = {
        "jobs": ("jobs", "--all"),
        "status": ("status", made.job_id),
        "status of no job": ("status", f"12{ATTACK}"),
        "logs": ("logs", made.job_id),
        "raw logs": ("logs", made.job_id, "--raw"),
        "json logs": ("logs", made.job_id, "--json"),
        "json status": ("status", made.job_id, "--json"),
        "all of status": ("status", made.job_id, "--json", "--show-secrets"),
        "import": ("import", made.job_id),
        "json import": ("import", made.job_id, "--json"),
        "all of import": ("import", made.job_id, "--show-secrets"),
        "explain": ("explain", str(file)),
        "json explain": ("explain", str(file), "--json"),
        "diff": ("diff", str(file), f"no{ATTACK}"),
        "gc": ("gc", f"--stack={ATTACK}"),
        "doctor": ("doctor", "--data-dir", str(folder / f"no{ATTACK}")),
        "fault": ("emulator", "fault", "add", f"no{ATTACK}", "--status", "503"),
        "requests": ("emulator", "requests"),
        "usage": (f"no{ATTACK}",),
    }
    yield Shown(
        on_terminal={name: run_on_terminal(*words, env=env) for name, words in commands.items()},
        in_pipe={name: run(*words, env=env) for name, words in commands.items()},
    )
    emulator_reset.reset(folder / "emulator")


@pytest.mark.parametrize(
    "text", ["\x1b[2J\x07", "\x7f", "é\x7f\x00", "\x9b31m", "\u202e", "\ud83d", "a\tb\nc"]
)
def test_json_has_escapes_for_control_characters_and_keeps_its_value(text: str) -> None:
    document = visible_json(json.dumps({text: [text]}, indent=2, ensure_ascii=False))
    assert HOSTILE.findall(document) == []
    assert json.loads(document) == {text: [text]}


def test_no_control_character_reaches_a_terminal(shown: Shown) -> None:
    found = {name: HOSTILE.findall(ended.out) for name, ended in shown.on_terminal.items()}
    assert {name: those for name, those in found.items() if those and name != "raw logs"} == {}


def test_no_control_character_reaches_a_pipe(shown: Shown) -> None:
    found = {name: HOSTILE.findall(ended.out + ended.err) for name, ended in shown.in_pipe.items()}
    assert {name: those for name, those in found.items() if those} == {}


def test_the_name_is_shown_with_escapes(shown: Shown) -> None:
    for name in ("jobs", "status"):
        assert r"digits\x1b]0;owned\x07\x1b[2J\x9b31m\u202e" in shown.in_pipe[name].out


def test_json_has_the_same_text(shown: Shown) -> None:
    assert shown.in_pipe["json status"].json["displayName"] == f"digits{ATTACK}"
    lines = [json.loads(line)["message"] for line in shown.in_pipe["json logs"].out.splitlines()]
    assert f"{ATTACK}loss 0.25" in lines


def test_program_output_passes_raw_to_a_terminal_alone(shown: Shown) -> None:
    assert f"{ATTACK}loss 0.25" in shown.on_terminal["raw logs"].out
    assert r"\x1b]0;owned\x07" in shown.in_pipe["raw logs"].out


def test_environment_values_are_hidden(shown: Shown) -> None:
    hidden = ("json status", "import", "json import")
    assert [name for name in hidden if SECRET in shown.in_pipe[name].out + shown.in_pipe[name].err] == []
    for name in ("json status", "json import"):
        assert '"value": "[secret]"' in shown.in_pipe[name].out
    assert "add --show-secrets" in shown.in_pipe["import"].err


def test_environment_values_are_printed_on_request(shown: Shown) -> None:
    assert SECRET in shown.in_pipe["all of status"].out
    assert SECRET in shown.in_pipe["all of import"].out
