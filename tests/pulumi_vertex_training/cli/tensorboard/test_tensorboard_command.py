"""`tensorboard` with a program of that name on PATH, which serves the files of its folder by HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from pulumi_vertex_training.views import target
from support.emulated.command import HANGS, environment, run
from support.services.training import job
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

COMMAND = Path(sys.executable).with_name("vertex-training")
BUCKET = "boards-bucket"
STAND_IN = f"""#!{sys.executable}
import functools, http.server, sys
print("words of the program", flush=True)
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=words["--logdir"])
http.server.ThreadingHTTPServer((words["--host"], int(words["--port"])), handler).serve_forever()
"""


@dataclass(frozen=True, kw_only=True)
class Boards:
    env: dict[str, str]
    endpoint: Endpoint
    ids: dict[str, str]


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boards]:
    folder = tmp_path_factory.mktemp("boards")
    data_dir, bin_folder, temporary = folder / "emulator", folder / "bin", folder / "tmp"
    bin_folder.mkdir()
    temporary.mkdir()
    program = bin_folder / "tensorboard"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    launcher.ensure(data_dir)
    try:
        endpoint = target.resolve(target.Choice(data_dir=data_dir), {})
        buckets.create(endpoint, {"name": BUCKET, "location": "us-central1"})
        made = {}
        for name in ("one", "two", "none"):
            body = job(name, "pass")
            if name != "none":
                base = {"outputUriPrefix": f"gs://{BUCKET}/{name}"}
                body["jobSpec"]["baseOutputDirectory"] = base
            made[name] = custom_jobs.create(endpoint, body).job_id
        objects.upload(endpoint, BUCKET, "one/logs/events", b"first")
        env = environment(folder, VERTEX_TRAINING_DATA_DIR=str(data_dir), TMPDIR=str(temporary))
        env["PATH"] = f"{bin_folder}{os.pathsep}{env['PATH']}"
        yield Boards(env=env, endpoint=endpoint, ids=made)
    finally:
        emulator_reset.reset(data_dir)


def start(boards: Boards, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(COMMAND), "tensorboard", *words],
        env=boards.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def fetched(url: str) -> bytes:
    with suppress(urllib.error.HTTPError), urllib.request.urlopen(url, timeout=HANGS) as answer:
        return bytes(answer.read())
    return b""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_shows_the_logs_of_jobs_as_they_grow_until_it_is_ended(
    boards: Boards, end: signal.Signals
) -> None:
    process = start(boards, "one", boards.ids["two"], "one", "--json")
    assert process.stdout is not None
    document: dict[str, Any] = json.loads(process.stdout.readline())
    runs = [f"one-{boards.ids['one']}", f"two-{boards.ids['two']}"]
    assert [one["run"] for one in document["logs"]] == runs
    assert document["logs"][0]["directory"] == f"gs://{BUCKET}/one/"
    assert document["url"].startswith("http://127.0.0.1:")
    assert fetched(f"{document['url']}{runs[0]}/events").startswith(b"first")
    objects.upload(boards.endpoint, BUCKET, "one/logs/events", f"first, then {end.name}".encode())
    objects.upload(boards.endpoint, BUCKET, "two/logs/events", b"of the other")
    eventually(lambda: fetched(f"{document['url']}{runs[0]}/events") == f"first, then {end.name}".encode())
    eventually(lambda: fetched(f"{document['url']}{runs[1]}/events") == b"of the other")
    process.send_signal(end)
    out, err = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (0, "")
    assert "words of the program" in err and "Traceback" not in err
    with pytest.raises(OSError):
        urllib.request.urlopen(document["url"], timeout=HANGS)
    assert list(Path(boards.env["TMPDIR"]).glob("vertex-training-tensorboard-*")) == []


def test_without_tensorboard_it_says_how_to_install_it(boards: Boards) -> None:
    ended = run("tensorboard", "one", env={**boards.env, "PATH": "/usr/bin:/bin"})
    assert (ended.code, ended.out) == (1, "")
    assert "TensorBoard is not installed. Install it with `pip install tensorboard`" in ended.err


def test_a_program_that_ends_by_itself_is_a_failure(boards: Boards, tmp_path: Path) -> None:
    (tmp_path / "tensorboard").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "tensorboard").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{boards.env['PATH']}"
    ended = run("tensorboard", "one", env={**boards.env, "PATH": path})
    assert ended.code == 1
    assert "TensorBoard ended with exit code 3." in ended.err


def test_wrong_words_are_bad_usage(boards: Boards) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for words, message in (
            (("none",), "has no base_output_directory, so it has no TensorBoard logs"),
            (("onee",), "Did you mean 'one'?"),
            (("one", "--port", str(taken.getsockname()[1])), "is in use. Give another one."),
            (("one", "--port", "0"), "'0' is not a port"),
            ((), "are required: JOB"),
        ):
            ended = run("tensorboard", *words, env=boards.env)
            assert (ended.code, ended.out) == (2, ""), words
            assert message in ended.err
