"""A program that tries to escape from a replica, in every sandbox that this machine allows (Linux)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from support.emulated.emulator import call
from support.emulated.job_emulator import JobEmulator, pool
from support.emulated.other_user import reachable_folder
from support.services import escape
from vertex_emulator.replicas.sandbox.children import run
from vertex_emulator.replicas.sandbox.linux import idmaps, seccomp
from vertex_emulator.replicas.sandbox.linux.privileges import Limits
from vertex_emulator.replicas.sandbox.mounts.image_root import ImageView
from vertex_emulator.replicas.sandbox.probe import candidates
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.sandbox.sandbox import Sandbox, View, interpreter_paths, make_folders

ROOT = os.geteuid() == 0
PROGRAM = Path(escape.__file__)
PLAIN = Sandbox(kind="process", reason="of a test", as_root=ROOT)
KINDS = [*candidates(), PLAIN]
LIMITS = Limits(processes=150)

OWNERS_RIGHTS = {"host user", "/etc/shadow"}
"""Escapes of a replica that runs as the emulator's own user, if that is root and nothing better works."""

PLAIN_PROCESS = OWNERS_RIGHTS | {
    "kill of the supervisor",
    "kcore",
    "/proc/sys",
    "/sys",
    "core_pattern",
    "sysrq",
    "disk",
    "socket",
    "sockets in /run",
    "token",
    "write of a file",
    "fork bomb",
}
"""Escapes of a plain process of the emulator's user; seccomp and the empty capabilities refuse the rest."""

ORDINARY_PROCESS = {"ptrace of the supervisor", "capabilities"}
"""More, if the user is not root: processes have equal rights, and only root can empty the bounding set."""


def name_of(sandbox: Sandbox) -> str:
    return "-".join(
        filter(
            None,
            [
                sandbox.kind,
                "user" * sandbox.user,
                "pids" * sandbox.pids,
                "apart" * (sandbox.host_id is not None),
            ],
        )
    )


def outcomes(folder: Path, sandbox: Sandbox, *, own: bool) -> dict[str, str]:
    """Run the program in a replica of a data folder. Return the outcome of each attempt by its name."""
    data = folder / "data"
    replica, image = data / "jobs/1/replica", data / "images/key/root"
    for path in (data / "buckets/b", replica, image / "etc"):
        path.mkdir(parents=True)
    data.chmod(0o700)
    (data / "token").write_text("secret")
    (data / "token").chmod(0o600)
    (folder / "kept").write_text("kept")
    shutil.copy(PROGRAM, data / "buckets/b/escape.py")
    paths = interpreter_paths()
    system = [path for path in map(Path, ("/usr", "/lib", "/lib64", "/bin")) if path.is_dir()]
    view = View(
        folder=replica,
        buckets=data / "buckets",
        hidden=data,
        visible=paths,
        hostname="h",
        hosts="127.0.0.1 localhost\n",
        image=ImageView(folders=(image,), own=True, scratch=replica / "image", working_dir="/", inside=(0, 0))
        if own
        else None,
        shown={path: path for path in (*system, *paths)},
    )
    make_folders(view)
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(folder)  # names of sockets are short
        listening.bind("socket")
        (folder / "socket").chmod(0o600)
        listening.listen()
        gcs = "/gcs" if sandbox.shows_gcs else str(data / "buckets")
        words = [data / "token", folder / "socket", os.getpid(), folder / "kept", gcs]
        command = Command(
            argv=(os.path.realpath(sys.executable), f"{gcs}/b/escape.py", *map(str, words)),
            environment={"PATH": "/usr/bin:/bin"},
            cwd=Path("/") if own else view.folder / "work",
            sandbox=sandbox,
            view=view if sandbox.kind == "namespaces" else None,
            limits=LIMITS,
        )
        code, output = run(command)
    said = output.decode(errors="replace")
    assert code == 0, said
    found = dict(
        line.split(": ", 1) for line in said.splitlines() if ": refused" in line or ": ESCAPED" in line
    )
    assert set(found) == set(escape.attempts("", "", 0, "", "")), said
    assert (folder / "kept").read_text() == "kept"
    for path in (data / "buckets").rglob("*"):
        assert not path.stat().st_mode & stat.S_ISUID
    return found


def escaped(found: Mapping[str, str]) -> set[str]:
    return {name for name, text in found.items() if text.startswith("ESCAPED")}


def allowed(sandbox: Sandbox) -> set[str]:
    """Return what a sandbox cannot refuse; the log of a replica says so."""
    if sandbox.kind == "process":
        assert "can read and change that" in sandbox.rights()
        return PLAIN_PROCESS if ROOT else PLAIN_PROCESS | ORDINARY_PROCESS
    if sandbox.host_id is None and os.geteuid() == 0:
        assert sandbox.rights().startswith("WARNING: It runs as root")
        return OWNERS_RIGHTS | {"fork bomb", "socket", *([] if sandbox.pids else ["kill of the supervisor"])}
    if sandbox.host_id is None and not sandbox.pids:
        return {"kill of the supervisor"}
    return set()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder that other users of the machine can enter."""
    before = Path.cwd()
    with reachable_folder() as path:
        yield path
        os.chdir(before)


@pytest.mark.parametrize("own", [False, True], ids=["on a stand-in", "own root"])
@pytest.mark.parametrize("sandbox", KINDS[:-1], ids=map(name_of, KINDS[:-1]))
def test_nothing_escapes(folder: Path, sandbox: Sandbox, own: bool) -> None:
    found = outcomes(folder, sandbox, own=own)
    assert escaped(found) <= allowed(sandbox), found
    owners = {path.stat().st_uid for path in (folder / "data/buckets").rglob("*")}
    assert owners <= {os.geteuid(), sandbox.host_id}


def test_a_plain_process_keeps_no_capability(folder: Path) -> None:
    assert escaped(outcomes(folder, PLAIN, own=False)) <= allowed(PLAIN)


WITHOUT_MOUNTS = """
import json, sys
from dataclasses import asdict
from pathlib import Path
sys.path.insert(0, {tests!r})
import psutil
import test_job_escapes as tests
from vertex_emulator.replicas.sandbox.probe import probe_here
sandbox = probe_here()
found = tests.outcomes(Path({folder!r}), sandbox, own=False)
print(json.dumps([asdict(sandbox), sorted(tests.escaped(found))]))
"""


def run_python(code: str, *before: str) -> str:
    """Run code with this Python. Return its output."""
    done = subprocess.run(
        [*before, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_nothing_escapes_from_a_root_that_may_not_mount(folder: Path) -> None:
    """Run as root of a container without CAP_SYS_ADMIN: the files are given to the replica's user instead."""
    if not ROOT:
        pytest.skip("only root has capabilities to give up")
    code = WITHOUT_MOUNTS.format(tests=str(Path(__file__).parent), folder=str(folder))
    fewer = "-sys_admin,-sys_ptrace,-dac_read_search,-sys_rawio"
    said = run_python(code, "setpriv", "--bounding-set", fewer, "--inh-caps", "-all")
    sandbox, found = json.loads(said)
    assert sandbox["user"] and sandbox["host_id"] and found == []


def test_the_program_escapes_without_a_sandbox(folder: Path) -> None:
    """Else the tests above show nothing."""
    (folder / "b").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(folder)
        listening.bind("socket")
        listening.listen()
        (folder / "kept").write_text("kept")
        words = [folder / "kept", folder / "socket", os.getpid(), folder / "kept", folder]
        only = [
            "token",
            "socket",
            "write of a file",
            "set-user-id file in /gcs",
            "kill of the supervisor",
            "seccomp",
            "personality",
        ]
        only += (
            ["capabilities", "host user", "remount of /etc", "core_pattern", "mount namespace"]
            if ROOT
            else []
        )
        done = subprocess.run(
            [sys.executable, str(PROGRAM), *map(str, words), *only],
            capture_output=True,
            text=True,
            check=True,
        )
    lines = [line for line in done.stdout.splitlines() if "remount" not in line]
    assert lines and all(": ESCAPED: " in line for line in lines), done.stdout


def test_the_log_names_the_user_of_a_replica(emulator: JobEmulator, sandbox: Sandbox) -> None:
    name = emulator.create(pool("import os; print(open('/proc/self/uid_map').read().split()[1])"))
    emulator.wait(name)
    notice = next(e for e in emulator.entries(name) if e["severity"] == "NOTICE")["jsonPayload"]["message"]
    expected = str(os.geteuid() if sandbox.host_id is None else sandbox.host_id)
    assert emulator.printed(name) == [expected]
    assert ("your user" if sandbox.host_id is None else f"the user {expected}") in notice


def test_files_of_replicas_stay_the_emulators(emulator: JobEmulator, sandbox: Sandbox) -> None:
    """Change them in a later job, and delete them through the emulator."""
    code = (
        "import os\nos.makedirs('/gcs/kept-files/a/b', 0o700, exist_ok=True)\n"
        "open('/gcs/kept-files/a/b/c', 'a').write('x')"
    )
    storage = emulator.daemon.storage_url
    assert call(storage, "POST", "/storage/v1/b?project=local", body={"name": "kept-files"}).status == 200
    for _ in range(2):
        assert emulator.wait(emulator.create(pool(code)))["state"] == "JOB_STATE_SUCCEEDED"
    written = emulator.data_dir / "buckets/kept-files/a/b/c"
    assert written.read_text() == "xx"
    assert written.stat().st_uid in (os.geteuid(), sandbox.host_id)
    path = "/storage/v1/b/kept-files/o/a%2Fb%2Fc"
    assert call(storage, "DELETE", path).status in (200, 204)
    assert not written.exists()


def test_an_id_that_nobody_has() -> None:
    found = idmaps.unused_id()
    assert found is None or found >= 1000
    assert asdict(Sandbox(kind="namespaces", host_id=found))["host_id"] == found


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_of_the_filter_ends_within_it(machine: str) -> None:
    """Interpret the filters here: the kernel checks that of this machine alone."""
    import struct

    code = seccomp.program(machine)
    count = len(code) // 8
    for index, (kind, if_true, if_false, _) in enumerate(struct.iter_unpack("=HBBI", code)):
        if kind & 0x07 == 0x05:
            assert index + 1 + max(if_true, if_false) < count
    assert struct.unpack("=HBBI", code[-8:])[0] == 0x06


def test_an_unknown_machine_has_no_filter() -> None:
    with pytest.raises(LookupError, match="m68k"):
        seccomp.program("m68k")
