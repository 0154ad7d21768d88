"""Images where replicas are plain processes; what replicas inherit, and what others on the machine see."""

from __future__ import annotations

import json
import os
import stat
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator, job, pool, running_jobs, wait_for_flags
from support.emulated.registries.images import digest, notice, of, packed, push, registry, succeeded, tar
from support.waiting import eventually
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

PLAIN = Sandbox(kind="process", reason="of a test")
SHOW = "import os, sys; print(os.path.basename(os.getcwd()), *sys.argv[1:])"


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[JobEmulator]:
    """Yield an emulator on a machine without namespaces."""
    with running_jobs(tmp_path / "data", sandbox=PLAIN) as emulator:
        yield emulator


def test_a_module_below_the_working_directory_runs(plain: JobEmulator) -> None:
    layer = tar({"app/trainer/__init__.py": "", "app/trainer/task.py": SHOW})
    image = push(
        registry(plain), layer, WorkingDir="/app", Entrypoint=["python", "-m", "trainer.task"], Cmd=["x"]
    )
    name = succeeded(plain, of(image))
    assert plain.printed(name) == ["app x"]
    assert "below its working directory, not at their own paths" in notice(plain, name)


def test_the_python_path_of_an_image_is_followed(plain: JobEmulator) -> None:
    image = push(registry(plain), tar({"lib/own.py": "X = 7"}), Env=["PYTHONPATH=/lib"])
    command = ["python3", "-c", "import own; print(own.X)"]
    assert plain.printed(succeeded(plain, of(image, command=command))) == ["7"]


def test_a_replica_writes_into_a_copy(plain: JobEmulator) -> None:
    code = "import os; print(sorted(os.listdir())); open('new', 'w').close()"
    image = push(registry(plain), tar({"app/a": "1"}), WorkingDir="/app", Entrypoint=["python", "-c", code])
    for _ in range(2):
        assert plain.printed(succeeded(plain, of(image))) == ["['a']"]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["python", "/app/main.py"], id="script"),
        pytest.param(["/app/run.sh"], id="program"),
        pytest.param(["sh", "-c", "cd /app && python main.py"], id="in a shell's line"),
        pytest.param(["python", "main.py", "--config=/app/config"], id="in an option"),
    ],
)
def test_a_command_that_names_a_path_of_the_image_fails_with_the_reason(
    plain: JobEmulator, words: list[str]
) -> None:
    layer = tar({"app/main.py": "", "app/run.sh": "", "app/config": ""})
    name = plain.create(of(push(registry(plain), layer), command=words))
    error = plain.wait(name)["error"]
    assert "cannot see the image's files at that path: of a test" in error["message"]


def test_an_image_with_a_root_of_its_own_is_refused(plain: JobEmulator) -> None:
    image = push(registry(plain), tar({"run": ""}), stand_in=None, Entrypoint=["/run"])
    message = plain.refused(job(of(image)))["message"]
    assert "needs its own root file system, which this machine cannot provide: of a test" in message


def test_a_user_that_cannot_be_had_is_named(plain: JobEmulator) -> None:
    image = push(registry(plain), tar({"a": ""}), User="1234", Entrypoint=["python", "-c", ""])
    assert "not as the image's user 1234" in notice(plain, succeeded(plain, of(image)))


def test_an_unknown_user_fails_the_job(emulator: JobEmulator) -> None:
    image = push(registry(emulator), tar({"a": ""}), User="nobody-knows", Entrypoint=["python"])
    error = emulator.wait(emulator.create(of(image)))["error"]
    assert "its user 'nobody-knows' is not in its /etc/passwd" in error["message"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-9]), "cannot be unpacked", id="cut"),
        pytest.param(lambda path: path.unlink(), "is no longer in the registry", id="gone"),
    ],
)
def test_a_blob_that_changed_since_fails_the_job(emulator: JobEmulator, change: Any, text: str) -> None:
    """After the job was created and before it starts."""
    emulator.call("PUT", "/_local/start-delay", {"seconds": 3600})
    layer = tar({"a": "x" * 5000})
    image = push(registry(emulator), layer, Entrypoint=["python"])
    name = emulator.create(of(image))
    blob = registry(emulator).blob_path(digest(packed(layer)))
    assert blob is not None
    change(blob)
    emulator.call("POST", "/_local/clock/advance", {"seconds": 7200})
    error = emulator.wait(name)["error"]
    assert text in error["message"]


def test_a_replica_that_is_started_again_has_a_fresh_image(emulator: JobEmulator) -> None:
    code = (
        "import os, sys\n"
        "print(os.path.exists('/data/new'))\n"
        "open('/data/new', 'w').close()\n"
        "again = os.path.exists('/gcs/flags/again')\n"
        "open('/gcs/flags/again', 'w').close()\n"
        "sys.exit(0 if again else 1)"
    )
    image = push(registry(emulator), tar({"data/a": "1"}), Entrypoint=["python", "-c", code])
    name = emulator.create(of(image), scheduling={"restartJobOnWorkerRestart": False})
    emulator.wait(name)
    assert set(emulator.printed(name)) == {"False"}


SECRETS = {
    "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
    "AWS_SECRET_ACCESS_KEY": "secret-of-a-test",
    "PULUMI_ACCESS_TOKEN": "secret-of-a-test",
    "CLOUDSDK_AUTH_ACCESS_TOKEN": "secret-of-a-test",
    "HTTPS_PROXY": "http://user:secret-of-a-test@proxy",
    "LD_PRELOAD": "",
    "PYTHONSTARTUP": "/home/me/secret-of-a-test",
    "VERTEX_TRAINING_DATA_DIR": "/home/me/secret-of-a-test",
}


@pytest.mark.parametrize("kind", ["namespaces", "process"])
def test_replicas_do_not_inherit_the_emulator_s_environment(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    chosen = sandbox if kind == "namespaces" else PLAIN
    code = "import os, json; print(json.dumps(dict(os.environ)))"
    with running_jobs(tmp_path, sandbox=chosen) as emulator:
        image = push(registry(emulator), tar({"a": ""}), Entrypoint=["python", "-c", code])
        for each in (pool(code), of(image)):
            [said] = emulator.printed(succeeded(emulator, each))
            given = json.loads(said)
            assert SECRETS.keys() & given.keys() <= {"HTTPS_PROXY"}
            assert "@127.0.0.1:" in given["HTTPS_PROXY"]
            assert "secret-of-a-test" not in said
            assert emulator.daemon.token not in said


@pytest.mark.parametrize(
    "path", ["token", "emulator.json", "docker/config.json", "state.sqlite3", "clock.json"]
)
def test_a_replica_cannot_read_what_is_the_emulator_s(emulator: JobEmulator, path: str) -> None:
    emulator.call("POST", "/_local/clock/advance", {"seconds": 1})
    assert (emulator.data_dir / path).exists()
    code = f"import os; print(os.path.exists({str(emulator.data_dir / path)!r}))"
    image = push(registry(emulator), tar({"a": ""}), Entrypoint=["python", "-c", code])
    assert emulator.printed(succeeded(emulator, of(image))) == ["False"]


def test_other_users_of_the_machine_are_kept_out(emulator: JobEmulator) -> None:
    """Check that all secrets and data lie below one closed folder, also while a job runs."""
    image = push(registry(emulator), tar({"a": "secret"}), Entrypoint=["python", "-c", ""])
    succeeded(emulator, of(image))
    assert stat.S_IMODE(emulator.data_dir.stat().st_mode) == 0o700
    assert emulator.data_dir.stat().st_uid == os.geteuid()
    for name in ("token", "docker/config.json", "emulator.json"):
        assert stat.S_IMODE((emulator.data_dir / name).stat().st_mode) == 0o600


def test_the_folder_of_a_job_can_be_removed_as_a_whole(emulator: JobEmulator) -> None:
    code = "import os; os.makedirs('/data/d/e'); os.chmod('/data/d', 0)"
    image = push(registry(emulator), tar({"data/a": "1"}), Entrypoint=["python", "-c", code])
    name = succeeded(emulator, of(image))
    folder = emulator.folder(name)
    assert emulator.delete(name).status == 200
    eventually(lambda: not folder.exists())


def test_what_a_replica_wrote_into_its_image_goes_when_it_ends(emulator: JobEmulator) -> None:
    """Also of a replica that ends while the job runs."""
    code = "import sys\nopen('/data/new', 'w').close()\nif sys.argv[1] == 'chief':\n"
    code += textwrap.indent(wait_for_flags("end"), "    ")
    image = push(registry(emulator), tar({"data/a": "1"}), Entrypoint=["python", "-c", code])
    name = emulator.create(of(image, args=["chief"]), of(image, args=["worker"]))
    folder = emulator.folder(name)

    def written() -> list[str]:
        return [path for path, _, files in os.walk(folder) if "new" in files]

    eventually(written)
    eventually(lambda: ["workerpool0-0" in path for path in written()] == [True])
    (emulator.flags / "end").touch()
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    eventually(lambda: not written() and not (folder / "removed").exists())
