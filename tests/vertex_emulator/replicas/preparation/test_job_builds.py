"""Builds of packages: code that a job brings, in the sandbox and network of its replicas."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator, running_jobs
from vertex_emulator.client.control import Control
from vertex_emulator.kernel.timeouts import SUPERVISOR
from vertex_emulator.replicas.preparation import interpreters
from vertex_emulator.replicas.preparation.packages import cache, installer
from vertex_emulator.replicas.preparation.packages.limits import (
    LimitError,
    Limits,
    check_archive,
    folder_watch,
)
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"

BACKEND = """
import json, os, socket, zipfile

def attempt(action):
    try:
        return action() or "done"
    except OSError as error:
        return type(error).__name__

def status(*names):
    lines = [line.split() for line in open("/proc/self/status")]
    return sorted({line[1] for line in lines if line[0].startswith(names)})

def rewrite():
    found = [os.path.join(folder, name) for top in VENVS for folder, _, names in os.walk(top)
             for name in names if name == "victim.py"]
    for path in found:
        os.chmod(os.path.dirname(path), 0o777)
        with open(path, "w") as file:
            file.write("print('REWRITTEN')")
    return found and "rewritten" or "nothing found"

def connect():
    with socket.create_connection(("127.0.0.1", PORT), 5) as service:
        return service.recv(100).decode()

def build_wheel(folder, config_settings=None, metadata_directory=None):
    seen = {
        "capabilities": status("Cap"),
        "filter": status("Seccomp:"),
        "user": open("/proc/self/uid_map").read().split()[1],
        "token": attempt(lambda: open(TOKEN).read()),
        "secret": attempt(lambda: open(SECRET).read()),
        "write": attempt(lambda: open(SECRET + "-written", "w").close()),
        "variable": os.environ.get("EMULATORS_OWN", "not there"),
        "cache": attempt(rewrite),
        "service": attempt(connect) if NETWORK == "namespace" else "",
        "proxy": os.environ.get("https_proxy", "").partition(":")[0],
    }
    code = "print(%r)" % json.dumps(seen)
    name = NAME + "-1-py3-none-any.whl"
    info = NAME + "-1.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as file:
        file.writestr(NAME + ".py", code)
        file.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: %s\\nVersion: 1\\n" % NAME)
        file.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        names = [NAME + ".py", info + "METADATA", info + "WHEEL", info + "RECORD"]
        file.writestr(info + "RECORD", "".join(each + ",,\\n" for each in names))
    return name
"""
"""A build backend that tries what a build must not do, and packs a program that prints what it found."""

PROJECT = (
    "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    "[project]\nname = '{name}'\nversion = '1'\n"
)


def sdist(name: str, files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            info = tarfile.TarInfo(f"{name}-1/{path}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def wheel(name: str, code: str, *, requires: str = "", zeros: int = 0) -> bytes:
    """Create a wheel; `zeros`: with a file of so many bytes that compress well."""
    info = f"{name}-1.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD")))
        if zeros:
            archive.writestr(f"{name}.bin", bytes(zeros))
    return buffer.getvalue()


class Builds:
    """An emulator whose user has a private file, and a service of the machine."""

    def __init__(self, emulator: JobEmulator, folder: Path, port: int) -> None:
        self.emulator = emulator
        self.secret = folder / "secret"
        self.secret.write_text("of the user")
        self.secret.chmod(0o600)
        self._port = port

    def probe(self, name: str, network: str) -> bytes:
        """Return a source distribution whose build looks around."""
        data_dir = self.emulator.data_dir
        known = {
            "NAME": name,
            "TOKEN": str(data_dir / "token"),
            "SECRET": str(self.secret),
            "VENVS": [str(data_dir / "venvs")],
            "PORT": self._port,
            "NETWORK": network,
        }
        constants = "".join(f"{key} = {value!r}\n" for key, value in known.items())
        return sdist(name, {"pyproject.toml": PROJECT.format(name=name), "backend.py": constants + BACKEND})

    def stage(self, file: str, data: bytes) -> str:
        path = self.emulator.data_dir / "buckets" / "staging" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return f"gs://staging/{file}"

    def run(self, module: str, *uris: str) -> tuple[dict[str, Any], list[str]]:
        """Run a module of packages to its end. Return the job, and what it printed."""
        pool = {
            "machineSpec": {"machineType": "n1-standard-4"},
            "replicaCount": 1,
            "pythonPackageSpec": {
                "executorImageUri": IMAGE,
                "packageUris": list(uris),
                "pythonModule": module,
            },
        }
        name = self.emulator.create(pool)
        return self.emulator.wait(name), self.emulator.printed(name)

    def found(self, module: str, *uris: str) -> dict[str, Any]:
        """Return what a build has seen."""
        job, printed = self.run(module, *uris)
        assert job["state"] == "JOB_STATE_SUCCEEDED", job
        seen: dict[str, Any] = json.loads(printed[0])
        return seen


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[Builds]:
    folder = tmp_path_factory.mktemp("builds")
    os.environ["EMULATORS_OWN"] = "a password"
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as service,
            running_jobs(folder / "data", sandbox=sandbox) as emulator,
        ):
            yield Builds(emulator, folder, service.getsockname()[1])
    finally:
        del os.environ["EMULATORS_OWN"]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.mark.parametrize(
    ("how", "network"),
    [
        ("package", "namespace"),
        ("requirement", "host"),
        pytest.param("package", "host", marks=pytest.mark.slow),
        pytest.param("requirement", "namespace", marks=pytest.mark.slow),
    ],
)
def test_a_build_is_as_far_from_the_machine_as_a_replica(
    builds: Builds, sandbox: Sandbox, how: str, network: str
) -> None:
    """Look around from the build of a package, and of a `file:` requirement, which a wheel may name."""
    if sandbox.kind != "namespaces":
        pytest.skip("replicas are plain processes here, and so are builds")
    daemon = builds.emulator.daemon
    Control(url=daemon.url, token=daemon.token).set_network(network)
    victim = builds.stage("victim-1-py3-none-any.whl", wheel("victim", "print('as installed')"))
    assert builds.run("victim", victim)[1] == ["as installed"]
    name = f"probe_{how}_{network}"
    package = builds.stage(f"{name}-1.tar.gz", builds.probe(name, network))
    if how == "requirement":
        requires = f"{name} @ file:///gcs/staging/{name}-1.tar.gz"
        uris = [
            builds.stage(f"outer_{name}-1-py3-none-any.whl", wheel(f"outer_{name}", "", requires=requires))
        ]
    else:
        uris = [package]
    found = builds.found(name, *uris)
    host = str(os.geteuid() if sandbox.host_id is None else sandbox.host_id)
    assert found.pop("user") == host
    assert found.pop("capabilities") == ["0000000000000000"]
    assert found.pop("filter") == ["2"]
    assert found.pop("variable") == "not there"
    assert found.pop("cache") == "nothing found"
    assert not builds.secret.with_name("secret-written").exists(), found.pop("write")
    assert {found["token"], found["secret"]} <= {"FileNotFoundError", "PermissionError"}
    if network == "namespace":
        assert (found["service"], found["proxy"]) == ("ConnectionRefusedError", "http")
    assert builds.run("victim", victim)[1] == ["as installed"]


def test_packages_that_were_changed_are_installed_again(builds: Builds) -> None:
    """Change the cache as a plain process could, which no sandbox holds."""
    uri = builds.stage("kept-1-py3-none-any.whl", wheel("kept", "print('as installed')"))
    assert builds.run("kept", uri)[1] == ["as installed"]
    [file] = (builds.emulator.data_dir / "venvs" / "code").glob("*/packages/kept.py")
    file.write_text("print('REWRITTEN')")
    assert builds.run("kept", uri)[1] == ["as installed"]


def test_a_wheel_that_unpacks_to_too_much_fills_no_disk(builds: Builds) -> None:
    bomb = builds.stage("bomb-1-py3-none-any.whl", wheel("bomb", "", zeros=101 << 20))
    outer = builds.stage(
        "outer-1-py3-none-any.whl",
        wheel("outer", "", requires="bomb @ file:///gcs/staging/bomb-1-py3-none-any.whl"),
    )
    source = builds.stage("bombs-1.tar.gz", sdist("bombs", {"zeros": bytes(101 << 20)}))
    for uri, named in ((bomb, bomb), (outer, "bomb-1-py3-none-any.whl"), (source, source)):
        job, _ = builds.run("bomb", uri)
        message = job["error"]["message"]
        assert message.startswith(f"The package {named} has "), message
        assert "and unpacks to more than 100 MiB, the most for a package of its size." in message
        assert "Upload data to a bucket" in message
    left = [path for path in (builds.emulator.data_dir / "venvs").iterdir() if path.name[0] == "."]
    assert [path for path in left if path.is_dir()] == []


def test_too_many_files(tmp_path: Path) -> None:
    archive = tmp_path / "trainer-1-py3-none-any.whl"
    archive.write_bytes(wheel("trainer", ""))
    check_archive(archive, "trainer", limits=Limits(files=4, size=10_000))
    with pytest.raises(LimitError, match=r"The package trainer has more than 3 files"):
        check_archive(archive, "trainer", limits=Limits(files=3, size=10_000))
    (tmp_path / "no-1.whl").write_bytes(b"no archive")
    check_archive(tmp_path / "no-1.whl", "no")  # pip reports it


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_would_fill_the_memory(tmp_path: Path, kind: bytes) -> None:
    archive, header = tmp_path / "trainer-1.tar.gz", tarfile.TarInfo("header")
    header.type, header.size = kind, 64 << 20
    with gzip.open(archive, "wb", compresslevel=1) as file:
        file.write(header.tobuf())
        for _ in range(64):
            file.write(bytes(1 << 20))
    with pytest.raises(LimitError, match=r"The package trainer has a name or attributes of 64 MiB; the most"):
        check_archive(archive, "trainer")


def test_a_build_that_writes_too_much_is_stopped(tmp_path: Path) -> None:
    code = "import time\nfor n in range(50): open(f'{n}', 'w').close()\ntime.sleep(600)"
    command = Command(argv=("python3", "-c", code), environment=dict(os.environ), cwd=tmp_path)
    watch = folder_watch(tmp_path, "gs://b/trainer.tar.gz", limits=Limits(files=40, size=1 << 30))
    problem = installer.run(command, watch, timeouts=SUPERVISOR)
    assert problem is not None
    assert problem.startswith("The installation of the packages gs://b/trainer.tar.gz was stopped: it wrote")


def test_a_result_of_a_build_is_not_trusted(tmp_path: Path) -> None:
    """Refuse what code of a package may leave: links, pipes and requirements that are options of pip."""
    (tmp_path / "venvs").mkdir()
    entry = tmp_path / "venvs" / "key"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="no folder was built"):
        cache.move_in(tmp_path / "link", entry, {})
    os.mkfifo(tmp_path / "elsewhere" / "pipe")
    with pytest.raises(OSError, match="neither a file nor a folder"):
        cache.move_in(tmp_path / "elsewhere", entry, {})
    assert not entry.exists()
    os.mkfifo(tmp_path / "answer")
    (tmp_path / "answer-link").symlink_to("/etc/hostname")
    for name in ("answer", "answer-link", "missing"):
        assert installer.answer_in(tmp_path / name) is None
    archive = tmp_path / "trainer-1-py3-none-any.whl"
    archive.write_bytes(wheel("trainer", ""))
    code = tmp_path / "venvs" / installer.code_key([archive], interpreters.own())
    with pytest.raises(installer.InstallError, match=r"gave .*--index-url"):
        installer.install_code(
            code,
            tmp_path / "venvs",
            [{"uri": "gs://b/trainer.whl", "path": str(archive)}],
            interpreters.own(),
            build=lambda *_: {"requirements": ["--index-url=http://127.0.0.1:1/"]},
        )
