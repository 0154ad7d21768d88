"""How one attempt fails: with a reason that has neither the address nor a text of the server."""

from __future__ import annotations

import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from support.emulated.emulator import is_alive
from support.notifications.receiver import receiver
from support.waiting import eventually
from vertex_emulator.jobs.notifications import command, webhook

SECRETS = "/s3cr3t?token=t0k3n"


@contextmanager
def server(answer: Callable[[socket.socket], object]) -> Iterator[int]:
    """Accept connections on a port of loopback, and handle each with `answer`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    answer(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def post(address: str, *, seconds: float = webhook.SECONDS) -> str:
    error = webhook.post(address, {"a": 1}, delivery="d1", seconds=seconds)
    assert "s3cr3t" not in error
    assert "t0k3n" not in error
    return error


def test_no_server() -> None:
    with socket.socket() as silent:  # it keeps the port, and does not listen
        silent.bind(("127.0.0.1", 0))
        error = post(f"http://127.0.0.1:{silent.getsockname()[1]}{SECRETS}")
    assert error == "no connection to the webhook: Connection refused"


def test_an_answer_that_is_none_of_http() -> None:
    with server(lambda connection: connection.sendall(b"t0k3n is not http\r\n\r\n")) as port:
        assert post(f"http://127.0.0.1:{port}{SECRETS}").startswith("no ")


def test_no_tls_where_it_is_declared() -> None:
    with receiver() as plain:
        address = plain.url.replace("http://", "https://")
        assert post(address + SECRETS).startswith("no secure connection to the webhook: ")
        assert plain.posted == []


def test_no_answer_in_time() -> None:
    ended = threading.Event()
    with server(lambda _: ended.wait()) as port:
        try:
            error = post(f"http://127.0.0.1:{port}{SECRETS}", seconds=0.2)
        finally:
            ended.set()
    assert error == "the webhook did not answer within 0.2 s"


def run(tmp_path: Path, code: str, **options: float) -> str:
    words = (sys.executable, "-c", code)
    return command.run(words, {"A": "1"}, b"{}", output=tmp_path / "output" / "d1.log", **options)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = f"child-of-{tmp_path.name}-{uuid.uuid4().hex}"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])\n"
        "time.sleep(600)\n"
    )
    error = run(tmp_path, code, seconds=1.0)
    assert error.startswith("the command did not end within 1 s; its output is in ")
    eventually(lambda: not marked(mark))


def marked(mark: str) -> list[psutil.Process]:
    """Return the processes that have the mark among their arguments."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if mark in process.cmdline() and is_alive(process):
                found.append(process)
    return found


def test_a_command_that_a_signal_ends(tmp_path: Path) -> None:
    error = run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert error.startswith("the command ended with signal 15; its output is in ")


def test_a_command_need_not_read_its_input(tmp_path: Path) -> None:
    words = (sys.executable, "-c", "import sys; sys.stdin.close()")
    document = b"x" * 1_000_000  # more than a pipe holds
    assert command.run(words, {}, document, output=tmp_path / "output" / "d1.log") == ""
