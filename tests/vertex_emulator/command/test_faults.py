"""`fault` and `requests` against a real emulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.emulated.command import EMULATOR, environment, run_emulator, run_on_terminal
from support.emulated.emulator import ask, call
from vertex_emulator.client import launcher
from vertex_emulator.client.launcher import Emulator
from vertex_emulator.daemon import reset as emulator_reset

JOBS = "/v1/projects/local/locations/us-central1/customJobs"
LIST = "JobService.ListCustomJobs"


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    folder = tmp_path_factory.mktemp("faults") / "data"
    yield launcher.ensure(folder)
    emulator_reset.reset(folder)


@pytest.fixture
def env(emulator: Emulator, tmp_path: Path) -> Iterator[dict[str, str]]:
    found = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(emulator.data_dir))
    yield found
    assert ask(emulator, "DELETE", "/_local/faults").status == 200


def status(emulator: Emulator) -> int:
    return ask(emulator, "GET", JOBS, headers={"User-Agent": "test/1"}).status


def test_a_fault_is_set_listed_and_removed(emulator: Emulator, env: dict[str, str]) -> None:
    assert run_emulator("fault", "list", env=env).out == "No fault is set.\n"
    added = run_emulator("fault", "add", "ListCustomJobs", "--status", "503", "--nth", "2", env=env)
    assert (added.code, added.err) == (0, "")
    number, _, words = added.out.removeprefix("Fault ").partition(": ")
    assert words == "the 2nd call of ListCustomJobs gets the response 503.\n"
    assert [status(emulator) for _ in range(3)] == [200, 503, 200]
    listed = run_emulator("fault", "list", env=env).out.splitlines()
    assert listed[0].split() == ["FAULT", "EFFECT", "CALLS", "AFFECTED"]
    assert listed[1].split()[0] == number
    assert listed[1].split()[-2:] == ["3", "1"]
    assert run_emulator("fault", "clear", number, env=env).out == "Removed 1 fault.\n"
    assert run_emulator("fault", "clear", env=env).out == "No fault was set.\n"
    again = run_emulator("fault", "clear", number, env=env)
    assert (again.code, again.out) == (2, "")
    assert f"There is no fault {number}" in again.err


def test_as_json(emulator: Emulator, env: dict[str, str]) -> None:
    added = run_emulator("fault", "add", LIST, "--drop", "after", "--always", "--json", env=env).json
    expected = {
        "number": added["number"],
        "method": LIST,
        "status": None,
        "message": None,
        "stall": 0.0,
        "delay": None,
        "drop": "after",
        "stale": None,
        "nth": 1,
        "times": "always",
        "seen": 0,
        "fired": 0,
        "held": 0,
    }
    assert added == expected
    assert run_emulator("fault", "list", "--json", env=env).json == {"faults": [expected]}
    assert run_emulator("fault", "clear", "--json", env=env).json == {"removed": 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--status 429", "the next call of * gets the response 429."),
        ("--status 429 --times 3", "each of the next 3 calls of * gets the response 429."),
        ("--status 500 --nth 11 --times 2", "each of the 11th to 12th call of * gets the response 500."),
        (
            "--stall 2 --status 500 --always --nth 3",
            "every call of * from the 3rd on waits for 2 s and gets the response 500.",
        ),
        ("--stall 0.5 --always", "every call of * waits for 0.5 s."),
        ("--delay 3", "the next call of * is carried out, and gets its response 3 s later."),
        (
            "--drop before",
            "the next call of * is not carried out: the connection is closed without a response.",
        ),
        (
            "--drop after --stall 3",
            "the next call of * is carried out, and the connection is closed after 3 s without a response.",
        ),
        ("--stale-seconds 5", "the next call of * gets the list of 5 s ago."),
        (
            "--stale-changes 1",
            "the next call of * gets the list before the last job was created or deleted.",
        ),
    ],
)
def test_faults_in_words(env: dict[str, str], options: str, words: str) -> None:
    added = run_emulator("fault", "add", "*", *options.split(), env=env)
    assert added.out.partition(": ")[2] == f"{words}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("add", "are required: METHOD"),
        ("add CreateCustomJbo --status 503", "Did you mean 'CreateCustomJob'?"),
        ("add * --status 200", "status is 200"),
        ("add *", "The fault has no effect"),
        ("add * --drop later", "invalid choice: 'later'"),
        ("add * --status 503 --times 2 --always", "not allowed with"),
        ("add * --stall -1", "'-1' is not a time"),
        ("add * --stall soon", "'soon' is not a time"),
        ("add * --status 503 --nth 0", "give a whole number from 1"),
        ("add storage.objects.list --stale-changes 1", "cannot be stale"),
        ("add * --stale-changes 1 --stale-seconds 2", "must be like"),
        ("remove", "has no command 'remove'"),
        ("", "Name a command: add, list, clear."),
    ],
)
def test_bad_usage(env: dict[str, str], arguments: str, says: str) -> None:
    ended = run_emulator("fault", *arguments.split(), env=env)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert run_emulator("fault", "list", "--json", env=env).json == {"faults": []}


@pytest.mark.parametrize("command", [("fault", "list"), ("fault", "clear"), ("requests",)])
def test_without_an_emulator(tmp_path: Path, command: tuple[str, ...]) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(tmp_path / "none"))
    ended = run_emulator(*command, env=env)
    assert ended.code == 1
    assert "is not running. Start it with" in ended.err
    assert not (tmp_path / "none").exists()


def test_requests(emulator: Emulator, env: dict[str, str]) -> None:
    run_emulator("requests", "--forget", env=env)
    assert run_emulator("requests", env=env).out == "No requests yet.\n"
    number = run_emulator("fault", "add", LIST, "--status", "503", "--json", env=env).json["number"]
    assert [status(emulator) for _ in range(3)] == [503, 200, 200]
    shown = run_emulator("requests", "--last", "2", env=env).out.splitlines()
    assert len(shown) == 6
    assert shown[1].split()[-3:] == [LIST, JOBS, "test/1"]
    assert shown[-1].split() == [LIST, "3"]
    document = run_emulator("requests", "--json", env=env).json
    assert [(each["status"], each["fault"]) for each in document["requests"]] == [
        (503, number),
        (200, None),
        (200, None),
    ]
    assert document["counts"] == {LIST: 3}
    assert f"503 (fault {number})" in run_on_terminal("requests", env=env, module=EMULATOR).plain


def test_a_clients_name_cannot_draw_on_the_terminal(emulator: Emulator, env: dict[str, str]) -> None:
    assert call(emulator.url, "GET", JOBS, headers={"User-Agent": "a\x1b[31mb"}).status == 400
    headers = {"User-Agent": "a\x9b31mb"}
    assert ask(emulator, "GET", JOBS, headers=headers).status == 200
    assert "\x1b[31mb" not in run_emulator("requests", env=env).out


def test_reset_clears_the_faults(tmp_path: Path) -> None:
    env = environment(tmp_path, VERTEX_TRAINING_DATA_DIR=str(tmp_path / "data"))
    for _ in range(2):
        assert run_emulator("start", env=env).code == 0
        assert run_emulator("fault", "list", env=env).out == "No fault is set.\n"
        assert run_emulator("fault", "add", "*", "--status", "503", "--always", env=env).code == 0
        assert run_emulator("reset", "--yes", env=env).code == 0
