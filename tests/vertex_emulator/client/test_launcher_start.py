"""Real daemons are started, found and stopped, concurrently and after all kinds of accidents."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from support.emulated.emulator import ask, call, is_alive, kill, running, storage_client
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.interpreter import VARIABLE
from vertex_emulator.client.launcher import Emulator, EmulatorBusyError, LauncherError
from vertex_emulator.client.lookup import package_folders
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.kernel.timeouts import ClientTimeouts
from vertex_training import __version__, timeouts

Start = Callable[..., Emulator]

STARTER = """
import sys, pathlib
from vertex_emulator import launcher
sys.stdin.readline()
found = launcher.ensure(pathlib.Path(sys.argv[1]))
print(found.pid, found.url, flush=True)
"""


def daemons_of(data_dir: Path) -> list[int]:
    """Return the processes that serve, or try to serve, a folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if "vertex_emulator" in command and str(data_dir) in command and is_alive(process):
            found.append(process.pid)
    return found


def test_start_find_stop(start: Start, tmp_path: Path) -> None:
    data_dir = tmp_path / "deep" / "data"
    assert launcher.find(data_dir) is None
    assert launcher.stop(data_dir) is False
    assert not data_dir.exists(), "asking makes nothing"
    emulator = start(data_dir)
    assert launcher.find(data_dir) == emulator == start(data_dir)
    assert emulator.data_dir == data_dir
    assert emulator.version == "0.1.0"
    info = ask(emulator, "GET", "/_local/info").json()
    assert (info["pid"], info["url"], info["dataDir"]) == (emulator.pid, emulator.url, str(data_dir))
    assert info["liveJobs"] == 0
    record = json.loads((data_dir / "emulator.json").read_text())
    assert (record["url"], record["pid"], record["version"]) == (emulator.url, emulator.pid, "0.1.0")
    assert launcher.stop(data_dir) is True
    assert not is_alive_pid(emulator.pid), "stopped means that the process has ended"
    assert not (data_dir / "emulator.json").exists()
    assert launcher.find(data_dir) is None
    again = start(data_dir)
    assert again.url == emulator.url, "its address stays the same"
    assert again.pid != emulator.pid


def is_alive_pid(pid: int) -> bool:
    return psutil.pid_exists(pid) and is_alive(psutil.Process(pid))


def test_the_daemon_is_detached(start: Start, tmp_path: Path) -> None:
    emulator = start()
    process = psutil.Process(emulator.pid)
    assert os.getsid(emulator.pid) != os.getsid(0)
    assert os.getsid(emulator.pid) != emulator.pid, "no session leader: it can get no terminal"
    assert process.ppid() != os.getpid()
    assert process.cwd() == "/"
    files = {str(Path(f"/proc/{emulator.pid}/fd/{number}").readlink()) for number in (0, 1, 2)}
    assert files == {"/dev/null", str(tmp_path / "data" / "emulator.log")}
    for number in (signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)
    assert launcher.find(emulator.data_dir) == emulator
    assert launcher.stop(emulator.data_dir), "it ends when it is asked to"
    assert "KeyboardInterrupt" not in (emulator.data_dir / "emulator.log").read_text()


@pytest.mark.usefixtures("cold_emulators")
def test_nothing_secret_is_seen_from_outside(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "hidden-passphrase")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden-key")
    monkeypatch.setenv("PIP_INDEX_URL", "https://pypi.example/simple")
    emulator = start()
    process = psutil.Process(emulator.pid)
    secrets = (emulator.token, emulator.storage_url.rpartition("/")[2])
    command = " ".join(process.cmdline())
    assert not any(secret in command for secret in secrets)
    environment = process.environ()
    assert environment["PIP_INDEX_URL"] == "https://pypi.example/simple"
    assert "hidden" not in " ".join(environment.values())
    assert not any(secret in repr(emulator) for secret in secrets)
    log = (emulator.data_dir / "emulator.log").read_text()
    assert not any(secret in log for secret in secrets)
    for name in ("token", "emulator.json", "emulator.log", "emulator.lock"):
        assert stat.S_IMODE((emulator.data_dir / name).stat().st_mode) == 0o600, name


def test_a_caller_s_pipe_is_not_held_open(tmp_path: Path) -> None:
    """Check that a reader of the caller's output does not wait for the end of the daemon."""
    data_dir = tmp_path / "data"
    done = subprocess.run(
        [sys.executable, "-c", STARTER, str(data_dir)],
        input="\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    pid = int(done.stdout.split()[0])
    assert done.stderr == ""
    assert is_alive_pid(pid), "it outlives the process that started it"
    assert launcher.stop(data_dir)


@pytest.mark.usefixtures("cold_emulators")
def test_four_processes_start_one_daemon(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    answers = set()
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("\n")
        starter.stdin.flush()
    for starter in starters:
        answers.add(starter.communicate(timeout=TIMEOUT)[0])
        assert starter.returncode == 0
    assert len(answers) == 1
    pid = int(answers.pop().split()[0])
    assert daemons_of(data_dir) == [pid]
    assert launcher.stop(data_dir)


@pytest.mark.usefixtures("cold_emulators")
def test_threads_start_one_daemon_each_time_it_was_killed(start: Start) -> None:
    for _ in range(2):
        with ThreadPoolExecutor(max_workers=6) as pool:
            found = list(pool.map(lambda _: start(), range(6)))
        assert len(set(found)) == 1
        assert daemons_of(found[0].data_dir) == [found[0].pid]
        kill(found[0].pid)


def test_after_sigkill(start: Start) -> None:
    first = start()
    with storage_client(first.storage_url) as client:
        client.create_bucket("survivor")
    kill(first.pid)
    assert (first.data_dir / "emulator.json").exists(), "it had no time to clean up"
    assert launcher.find(first.data_dir) is None
    assert launcher.stop(first.data_dir) is False
    second = start()
    assert second.pid != first.pid
    with storage_client(second.storage_url) as client:
        assert [bucket.name for bucket in client.list_buckets()] == ["survivor"]


def test_sigterm_is_a_clean_stop(start: Start) -> None:
    emulator = start()
    process = psutil.Process(emulator.pid)
    process.send_signal(signal.SIGTERM)
    eventually(lambda: not is_alive(process))
    assert not (emulator.data_dir / "emulator.json").exists()
    assert "has stopped" in (emulator.data_dir / "emulator.log").read_text()


class Impostor(BaseHTTPRequestHandler):
    """Listens where the emulator was, and repeats what it once heard from it."""

    instance = ""
    heard: list[str]

    def do_GET(self) -> None:
        self.heard.append(f"{self.path} {self.headers}")
        body = json.dumps(
            {"status": "ok", "version": "0.1.0", "instance": self.instance, "proof": "0" * 64}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


def test_a_stranger_at_the_port_gets_no_secret(start: Start) -> None:
    first = start()
    health = call(first.url, "GET", "/_local/health").json()
    kill(first.pid)
    heard: list[str] = []
    handler = type("Handler", (Impostor,), {"instance": health["instance"], "heard": heard})
    impostor = ThreadingHTTPServer(("127.0.0.1", urlsplit(first.url).port or 0), handler)
    thread = threading.Thread(target=impostor.serve_forever)
    thread.start()
    try:
        assert launcher.find(first.data_dir) is None
        assert launcher.stop(first.data_dir) is False
        second = start()
        assert second.url != first.url, "its port is taken, so the emulator uses another"
        assert heard, "the stranger was asked"
        assert first.token not in " ".join(heard)
    finally:
        impostor.shutdown()
        thread.join()
        impostor.server_close()


def test_a_damaged_record(start: Start) -> None:
    first = start()
    kill(first.pid)
    record = first.data_dir / "emulator.json"
    whole = json.loads(record.read_text())
    for text in (
        *("", "{", "[]", '{"url": 1}', "\x00\u00ff", "null", '"x"'),
        *(
            json.dumps({**whole, "url": url})
            for url in ("", "x", "http://127.0.0.1:x", "http://[", "ftp://a:1")
        ),
    ):
        record.write_text(text)
        assert launcher.find(first.data_dir) is None, text
        assert launcher.stop(first.data_dir) is False
    assert start().pid != first.pid


def test_a_record_of_another_process_with_that_id(start: Start, tmp_path: Path) -> None:
    """After a reboot the process id and the port may be anybody's."""
    first = start()
    kill(first.pid)
    record = json.loads((first.data_dir / "emulator.json").read_text())
    record["pid"] = os.getpid()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.listen()
        record["url"] = "http://127.0.0.1:1"
        (first.data_dir / "emulator.json").write_text(json.dumps(record))
        assert launcher.find(first.data_dir) is None
        assert launcher.stop(first.data_dir) is False


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Return a folder with the packages of an older version."""
    folder = tmp_path / "older"
    for package in package_folders():
        shutil.copytree(package, folder / package.name)
    init = folder / "vertex_training" / "__init__.py"
    init.write_text(init.read_text().replace(f'"{__version__}"', '"0.0.9"'))
    return folder


def test_an_interpreter_with_another_version_is_refused(
    start: Start, tmp_path: Path, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{older}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(python))
    with pytest.raises(LauncherError) as refused:
        start()
    assert str(refused.value) == (
        f"{python} starts version 0.0.9 of vertex-emulator. It must be {__version__}, as this program's. "
        f"Install that version there, unset {VARIABLE}, or run the program again if its packages have just "
        "changed."
    )
    assert not daemons_of(tmp_path / "data")


def test_another_version_is_replaced(start: Start, tmp_path: Path, older: Path) -> None:
    data_dir = tmp_path / "data"
    subprocess.run(
        [sys.executable, "-c", STARTER, str(data_dir)],
        env={**os.environ, "PYTHONPATH": str(older)},
        input="\n",
        text=True,
        check=True,
    )
    first = launcher.find(data_dir)
    assert first is not None
    assert first.version == "0.0.9"
    with storage_client(first.storage_url) as client:
        client.create_bucket("kept")
    second = start()
    assert not is_alive_pid(first.pid)
    assert (second.pid != first.pid, second.version) == (True, __version__)
    with storage_client(second.storage_url) as client:
        assert client.bucket("kept").exists()


def test_a_port_that_is_asked_for(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(LauncherError, match=rf"Port {taken} is in use .* another with --port"):
            start(port=taken)
        assert launcher.find(tmp_path / "data") is None
    emulator = start(port=taken)
    assert emulator.url == f"http://127.0.0.1:{taken}"
    assert start(port=taken) == emulator
    with pytest.raises(LauncherError, match=r"already runs at .* stop"):
        start(port=taken + 1)
    assert start() == emulator


def test_a_port_that_is_none(start: Start) -> None:
    with pytest.raises(LauncherError, match=r"Port 70000 cannot be used.*1024 to 65535"):
        start(port=70000)


def test_a_data_folder_that_cannot_be(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for path in (file, file / "below", Path("/proc/emulator")):
        with pytest.raises(LauncherError, match=f"data folder cannot be used: .*{path}.*--data-dir"):
            start(path)


def test_a_daemon_that_cannot_start_says_why(start: Start, tmp_path: Path) -> None:
    data_dir = data_folder.prepare(tmp_path / "data").root
    (data_dir / "state.sqlite3").write_bytes(b"this is no database" * 1000)
    with pytest.raises(LauncherError, match=r"state.sqlite3 cannot be opened: file is not a database"):
        start()


@pytest.mark.parametrize(("soft", "hard"), [(64, 64), (64, 4096)])
def test_a_low_limit_of_open_files(tmp_path: Path, soft: int, hard: int) -> None:
    code = (
        "import resource, sys, pathlib\nfrom vertex_emulator import launcher\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        "try:\n    print(launcher.ensure(pathlib.Path(sys.argv[1])).pid)\n"
        "except launcher.LauncherError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "data")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if hard == soft:
        assert printed.startswith("The emulator needs 128 open files at least, and this shell allows 64")
    else:
        assert resource.prlimit(int(printed), resource.RLIMIT_NOFILE) == (1024, hard)
        assert launcher.stop(tmp_path / "data")


def test_a_daemon_that_ends_or_hangs_at_its_start(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no vertex_emulator here >&2\n")
    python.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(python))
    with pytest.raises(LauncherError, match=r"did not start\. The end of its log.*\nno vertex_emulator here"):
        start()
    late = launcher._not_started(DataFolder(root=tmp_path / "data"), since=0, timed_out=True)
    assert "did not start in time: this machine may be busy. Run the same command again." in str(late)


def test_a_newer_data_folder(start: Start) -> None:
    emulator = start()
    launcher.stop(emulator.data_dir)
    with running(emulator.data_dir) as daemon:
        daemon.storage.object_store.store._database.execute("UPDATE schema_versions SET version = 99")
    with pytest.raises(LauncherError, match="written by a newer emulator"):
        start()


def test_a_daemon_that_hangs_is_named(start: Start) -> None:
    emulator = start()
    process = psutil.Process(emulator.pid)
    process.suspend()
    try:
        busy = (
            rf"\(process {emulator.pid}\) is busy: it did not answer at {emulator.url}.* kill {emulator.pid}"
        )
        with pytest.raises(EmulatorBusyError, match=busy):
            launcher.find(emulator.data_dir, timeouts=ClientTimeouts(probe=0.3))
        with pytest.raises(EmulatorBusyError, match=busy):
            launcher.stop(emulator.data_dir, timeouts=ClientTimeouts(probe=0.3, stop=0.5))
    finally:
        process.resume()
    assert start() == emulator


def test_proxies_are_not_asked(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    emulator = start()
    assert launcher.find(emulator.data_dir) == emulator
    assert launcher.stop(emulator.data_dir)


def test_it_leaves_when_idle(start: Start) -> None:
    emulator = start(idle_minutes=0.1)
    process = psutil.Process(emulator.pid)
    eventually(lambda: not is_alive(process))
    assert "is idle and stops" in (emulator.data_dir / "emulator.log").read_text()
    assert launcher.find(emulator.data_dir) is None
    assert start().pid != emulator.pid


def test_in_the_foreground(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    command = [sys.executable, "-m", "vertex_emulator", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "listens at http://127.0.0.1:" in process.stderr.readline()
        emulator = launcher.find(data_dir)
        assert emulator is not None
        assert emulator.pid == process.pid
        second = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert second.returncode == 1
        assert f"Process {process.pid} already serves {data_dir}" in second.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 0
    assert launcher.find(data_dir) is None


def test_a_client_waits_as_long_as_a_slower_emulator_needs(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(timeouts.VARIABLE, "4")
    emulator = start()
    assert emulator.timeout_scale == 4
    info = ask(emulator, "GET", "/_local/info").json()
    assert info["timeoutScale"] == 4
    process = psutil.Process(emulator.pid)
    process.suspend()
    try:
        began = time.monotonic()
        with pytest.raises(EmulatorBusyError):
            launcher.find(emulator.data_dir, timeouts=ClientTimeouts(probe=0.2))
        assert time.monotonic() - began >= 0.8
    finally:
        process.resume()


def test_a_bad_scale_of_timeouts_is_refused(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(timeouts.VARIABLE, "fast")
    with pytest.raises(LauncherError, match=f"{timeouts.VARIABLE} is 'fast', but must be a number"):
        start()


def test_the_log_is_kept_short(start: Start, tmp_path: Path) -> None:
    data_dir = data_folder.prepare(tmp_path / "data").root
    (data_dir / "emulator.log").write_text("old\n" * (5 << 18) + "more\n")
    start()
    assert (data_dir / "emulator.log.1").read_text().startswith("old\n")
    assert "old" not in (data_dir / "emulator.log").read_text()
