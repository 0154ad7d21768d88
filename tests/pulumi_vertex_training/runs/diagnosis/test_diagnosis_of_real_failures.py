"""Programs that really fail, as jobs of a real emulator: the diagnosis of what they really print."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from pulumi_vertex_training.runs.diagnosis.diagnosis import Diagnosis, examine
from support.waiting import eventually
from vertex_emulator.testing.emulator import running

IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"

PORT = """
import socket
one, two = socket.socket(), socket.socket()
one.bind(("127.0.0.1", 0)); one.listen()
two.bind(one.getsockname())
"""
HTTP_PORT = """
import asyncio
async def serve():
    first = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = first.sockets[0].getsockname()[1]
    await asyncio.start_server(lambda r, w: None, "127.0.0.1", port)
asyncio.run(serve())
"""
MEMORY = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))
b"x" * 2**30
"""
CHAINED = """
def load():
    try:
        open("/data/flowers.csv")
    except OSError as error:
        raise ValueError("no training data") from error
load()
"""
SURVIVED = """
import traceback
try:
    import not_there_but_optional
except ImportError:
    traceback.print_exc()
raise ValueError("shapes (3,) and (4,) do not fit")
"""
LAUNCHER = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import flowers"], check=True)
"""
MODULE = "raise ModuleNotFoundError(\"No module named '{}'\")"
"""A program that ends as if the emulator's Python had no such module, whatever it has."""
ARGUMENTS = """
import argparse
argparse.ArgumentParser(prog="task").parse_args(["--epoch=3"])
"""

PROGRAMS: Mapping[str, list[str]] = {
    "import": ["python3", "-c", "import flowers.roses"],
    "module": ["python3", "-m", "trainer.task"],
    "name": ["python3", "-c", "from json import flowers"],
    "memory": ["python3", "-c", MEMORY],
    "killed": ["python3", "-c", "import os, sys; sys.exit(137)"],
    "port": ["python3", "-c", PORT],
    "asyncio-port": ["python3", "-c", HTTP_PORT],
    "file": ["python3", "-c", "open('/data/flowers.csv')"],
    "script": ["python3", "/app/train.py"],
    "cat": ["cat", "/app/settings.toml"],
    "directory": ["sh", "-c", "cd /app/nowhere && echo done"],
    "data": ["python3", "-c", "open('/gcs/no-such-bucket/train/flowers.csv')"],
    "chained": ["python3", "-c", CHAINED],
    "survived": ["python3", "-c", SURVIVED],
    "child": ["python3", "-c", LAUNCHER],
    "permission": ["sh", "-c", "echo hello > /tmp/start; /tmp/start"],
    "command": ["no-such-command"],
    "shell-command": ["sh", "-c", "no-such-command --epochs 3"],
    "arguments": ["python3", "-c", ARGUMENTS],
    "environment": ["python3", "-c", "import os; os.environ['AIP_CHECKPOINT_DIR']"],
    "syntax": ["python3", "-c", "print 'hello'"],
    "crash": ["python3", "-c", "import sys; sys.exit(139)"],
    "refused": ["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 1))"],
    "silent": ["python3", "-c", "raise SystemExit(3)"],
    **{
        each: ["python3", "-c", MODULE.format(each)] for each in ("sklearn", "hypertune", "tf_keras", "torch")
    },
    "plain-sklearn": ["python3", "-c", MODULE.format("sklearn")],
    "bytes": [
        "python3",
        "-c",
        r"import sys; print('\x1b]0;title\x07\x1b[31mred\x1b[0m \r half\r whole'); sys.exit(4)",
    ],
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, tuple[JobRecord, Diagnosis]]]:
    """Return the ended job and the diagnosis of each program."""
    with running(tmp_path_factory.mktemp("emulator")) as emulator:
        endpoint = Endpoint(
            kind="emulator",
            project=emulator.project,
            location=emulator.location,
            url=emulator.host,
            token=emulator.token,
        )
        names = {
            name: custom_jobs.create(endpoint, job(name, command)).name for name, command in PROGRAMS.items()
        }
        records = {name: ended(endpoint, job_name) for name, job_name in names.items()}
        yield {name: (record, examine(endpoint, record)) for name, record in records.items()}


def job(name: str, command: list[str]) -> dict[str, object]:
    image = "python:3" if name.startswith("plain-") else IMAGE
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "containerSpec": {"imageUri": image, "command": command},
    }
    return {
        "displayName": name,
        "jobSpec": {"workerPoolSpecs": [pool], "scheduling": {"disableRetries": True}},
    }


def ended(endpoint: Endpoint, name: str) -> JobRecord:
    eventually(lambda: custom_jobs.get(endpoint, name).state.is_terminal)
    return custom_jobs.get(endpoint, name)


@pytest.mark.parametrize(
    ("program", "kind", "says"),
    [
        pytest.param("import", "missing_module", "the Python module flowers is missing", id="import"),
        pytest.param("module", "missing_module", "the Python module trainer is missing", id="module"),
        pytest.param("name", "import_error", "flowers cannot be imported", id="name"),
        pytest.param("memory", "out_of_memory", "it ran out of memory", id="memory"),
        pytest.param("killed", "out_of_memory", "it was killed from outside (SIGKILL)", id="killed"),
        pytest.param("port", "port_in_use", "a port that it listens on is in use", id="port"),
        pytest.param("asyncio-port", "port_in_use", "the port that it listens on, ", id="asyncio"),
        pytest.param("file", "missing_file", "/data/flowers.csv is missing", id="file"),
        pytest.param("script", "missing_file", "/app/train.py is missing", id="script"),
        pytest.param("cat", "missing_file", "/app/settings.toml is missing", id="cat"),
        pytest.param("directory", "missing_file", "/app/nowhere", id="directory"),
        pytest.param("data", "missing_data", "/gcs/no-such-bucket/train/flowers.csv is not", id="data"),
        pytest.param("chained", "missing_file", "/data/flowers.csv is missing", id="chained"),
        pytest.param("child", "missing_module", "the Python module flowers is missing", id="child"),
        pytest.param("permission", "file_permission", "directory /tmp/start", id="permission"),
        pytest.param("command", "command", "command", id="command"),
        pytest.param("shell-command", "command", "the command no-such-command is not", id="shell"),
        pytest.param("arguments", "arguments", "unrecognized arguments: --epoch=3", id="arguments"),
        pytest.param(
            "environment", "environment", "the variable AIP_CHECKPOINT_DIR is not", id="environment"
        ),
        pytest.param("syntax", "syntax", "SyntaxError", id="syntax"),
        pytest.param("crash", "crash", "it crashed in native code (SIGSEGV)", id="crash"),
        pytest.param("refused", "unreachable", "it could not reach another replica", id="refused"),
    ],
)
def test_the_cause_is_found(
    found: Mapping[str, tuple[JobRecord, Diagnosis]], program: str, kind: str, says: str
) -> None:
    record, diagnosis = found[program]
    assert (diagnosis.kind, says in diagnosis.cause) == (kind, True), (diagnosis, record.error)
    assert diagnosis.replica == "workerpool0-0"
    assert diagnosis.exit_code not in (None, 0)
    assert diagnosis.remedy.endswith((".", '"')), diagnosis.remedy


@pytest.mark.parametrize("program", ["survived", "silent"])
def test_no_cause_is_made_up(found: Mapping[str, tuple[JobRecord, Diagnosis]], program: str) -> None:
    _, diagnosis = found[program]
    assert (diagnosis.kind, diagnosis.cause, diagnosis.remedy) == ("", "", "")


def test_what_a_program_draws_on_a_terminal_arrives_as_text(
    found: Mapping[str, tuple[JobRecord, Diagnosis]],
) -> None:
    assert found["bytes"][1].lines == (" whole",)


def test_the_lines_of_the_log_come_with_the_error_and_are_not_asked_for(
    found: Mapping[str, tuple[JobRecord, Diagnosis]],
) -> None:
    record, diagnosis = found["import"]
    assert record.error is not None
    assert "last lines of its log" in record.error.message
    assert diagnosis.lines[-1] == "ModuleNotFoundError: No module named 'flowers'"
    assert "ModuleNotFound" not in diagnosis.words


@pytest.mark.parametrize(
    ("program", "distribution"),
    [("sklearn", "scikit-learn"), ("hypertune", "cloudml-hypertune"), ("tf_keras", "tf-keras")],
)
def test_a_module_of_googles_image_is_installed_into_the_emulators_python(
    found: Mapping[str, tuple[JobRecord, Diagnosis]], program: str, distribution: str
) -> None:
    diagnosis = found[program][1]
    assert f"the Python module {program} is missing" in diagnosis.cause
    assert f"run `{sys.executable} -m pip install {distribution}`." in diagnosis.remedy


@pytest.mark.parametrize("program", ["torch", "plain-sklearn", "import"])
def test_a_module_that_the_image_lacks_is_added_to_the_job(
    found: Mapping[str, tuple[JobRecord, Diagnosis]], program: str
) -> None:
    diagnosis = found[program][1]
    assert diagnosis.kind == "missing_module"
    assert diagnosis.remedy.startswith("Add it to the package's dependencies or to the image.")
