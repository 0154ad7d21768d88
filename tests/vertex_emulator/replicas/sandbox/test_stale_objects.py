"""Stale objects: a replica sees an object that another one rewrites as it was, and every new name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import vertex_cluster
from support.emulated.job_emulator import JobEmulator, pool, raise_flag, wait_for_flags
from vertex_emulator.client.lookup import find
from vertex_emulator.replicas.sandbox.mounts import cached_buckets
from vertex_emulator.testing.emulator import VertexEmulator

pytestmark = pytest.mark.skipif(
    not os.access(cached_buckets.DEVICE, os.R_OK | os.W_OK), reason="needs to open /dev/fuse"
)

CHIEF = """
import os, sys
sys.path.insert(0, "/gcs/code")
from vertex_cluster import checkpoints

def write(step):
    with open("/gcs/flags/latest", "w") as file:
        file.write(f"step {step}")
    with open("/gcs/flags/part", "w") as file:
        file.write(f"step {step}")
    os.replace("/gcs/flags/part", "/gcs/flags/replaced")
    store.save(step, lambda at: (at / "state").write_text(f"step {step}"))

store = checkpoints.Checkpoints("/gcs/flags/checkpoints", keep=1, rank=0, world_size=1)
store.resume(print)
write(1)
"""

WORKER = """
import json, sys
from pathlib import Path
sys.path.insert(0, "/gcs/code")
from vertex_cluster import checkpoints

def show():
    at = Path("/gcs/flags")
    newest = checkpoints.newest(at / "checkpoints")
    found = [(at / "latest").read_text(), (at / "replaced").read_text(), (newest.path / "state").read_text()]
    print(json.dumps(found), flush=True)
"""

FILES = """
import os, shutil
from pathlib import Path

at = Path("/gcs/flags/files")
at.mkdir()
(at / "own").write_text("a")
(at / "own").write_text("bcd")
with (at / "own").open("a") as file:
    file.write("e")
print((at / "own").read_text(), (at / "own").stat().st_size)
(at / "folder").mkdir()
(at / "folder" / "large").write_bytes(os.urandom(1) * 3_000_000)
os.rename(at / "folder", at / "moved")
print(sorted(os.listdir(at)), len((at / "moved" / "large").read_bytes()))
os.truncate(at / "moved" / "large", 10)
print((at / "moved" / "large").stat().st_size, oct((at / "own").stat().st_mode & 0o777))
(at / "link").symlink_to("/etc/hostname")
print((at / "link").readlink())
try:
    (at / "missing").read_text()
except FileNotFoundError:
    print("missing")
(at / "missing").write_text("made")
print((at / "missing").read_text())
for number in range(2000):
    (at / "moved" / str(number)).touch()
print(len(os.listdir(at / "moved")))
shutil.rmtree(at / "moved")
os.unlink(at / "own")
print(sorted(os.listdir(at)), os.getppid(), os.getuid() == (at / "link").lstat().st_uid)
"""


@pytest.fixture
def stale(emulator: JobEmulator) -> JobEmulator:
    started = find(emulator.data_dir)
    assert started is not None
    fixture = VertexEmulator(
        data_dir=emulator.data_dir, project="local", location="us-central1", _first=started, _outer={}
    )
    fixture.stale_objects()
    assert fixture.control.stale_objects()
    return emulator


def log_of(emulator: JobEmulator, name: str) -> str:
    return "\n".join(str(each.get("jsonPayload", each)) for each in emulator.entries(name))


def seen_by_the_worker(emulator: JobEmulator) -> list[str]:
    code = emulator.data_dir / "buckets" / "code" / "vertex_cluster"
    shutil.copytree(Path(vertex_cluster.__file__).parent, code)
    chief = CHIEF + raise_flag("one") + wait_for_flags("seen") + "write(2)\n" + raise_flag("two")
    worker = wait_for_flags("one") + WORKER + "show()\n" + raise_flag("seen")
    name = emulator.create(
        pool(chief + wait_for_flags("done")),
        pool(worker + wait_for_flags("two") + "show()\n" + raise_flag("done")),
    )
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED", log_of(emulator, name)
    return emulator.printed(name, "workerpool1-0")


@pytest.mark.parity(
    "Cloud Storage: objects under /gcs that another replica rewrites",
    own_way="seen at once. With `vertex-emulator stale-objects on`, as on the largest machines",
)
def test_a_latest_file_is_stale_and_a_checkpoint_is_not(stale: JobEmulator) -> None:
    assert seen_by_the_worker(stale) == [
        '["step 1", "step 1", "step 1"]',
        '["step 1", "step 1", "step 2"]',
    ]


@pytest.mark.parity("Cloud Storage: objects under /gcs that another replica rewrites")
def test_without_the_fault_both_are_seen(emulator: JobEmulator) -> None:
    assert seen_by_the_worker(emulator) == [
        '["step 1", "step 1", "step 1"]',
        '["step 2", "step 2", "step 2"]',
    ]


def test_a_replica_s_own_changes_are_seen(stale: JobEmulator) -> None:
    name = stale.create(pool(FILES))
    assert stale.wait(name)["state"] == "JOB_STATE_SUCCEEDED", log_of(stale, name)
    assert stale.printed(name, "workerpool0-0")[:-1] == [
        "bcde 4",
        "['moved', 'own'] 3000000",
        "10 0o644",
        "/etc/hostname",
        "missing",
        "made",
        "2001",
    ]
    assert stale.printed(name, "workerpool0-0")[-1].startswith("['link', 'missing']")
    assert stale.printed(name, "workerpool0-0")[-1].endswith("True")
    assert sorted(each.name for each in (stale.flags / "files").iterdir()) == ["link", "missing"]


def test_an_object_that_was_not_read_before_it_was_rewritten_cannot_be_read(stale: JobEmulator) -> None:
    (stale.flags / "data").write_text("old")
    reader = (
        "import os\nprint(os.stat('/gcs/flags/data').st_size, flush=True)\n"
        + raise_flag("seen")
        + wait_for_flags("two")
        + "print(os.stat('/gcs/flags/data').st_size)\n"
        "try:\n    open('/gcs/flags/data').read()\nexcept OSError as error:\n    print(error.strerror)\n"
    )
    name = stale.create(pool(reader))
    stale.until(lambda: (stale.flags / "seen").exists())
    (stale.flags / "data").write_text("longer")
    (stale.flags / "two").touch()
    assert stale.wait(name)["state"] == "JOB_STATE_SUCCEEDED", log_of(stale, name)
    assert stale.printed(name, "workerpool0-0") == ["3", "3", "Stale file handle"]


def test_the_server_ends_with_its_replica(stale: JobEmulator) -> None:
    before = _mounts()
    name = stale.create(pool("import subprocess; subprocess.Popen(['sleep', '1000'])"))
    assert stale.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    assert _mounts() == before
    job = stale.create(pool(raise_flag("runs") + "import time; time.sleep(600)"))
    stale.until(lambda: (stale.flags / "runs").exists())
    stale.cancel(job)
    assert stale.wait(job)["state"] == "JOB_STATE_CANCELLED"


def _mounts() -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if " fuse " in line]


@pytest.mark.parametrize("value", [None, "on", 1])
def test_other_values_are_refused(idle: JobEmulator, value: object) -> None:
    answer = idle.call("PUT", "/_local/stale-objects", {"stale": value})
    assert (answer.status, answer.json()["error"]["message"]) == (400, "stale must be true or false.")


def test_a_reset_ends_it(stale: JobEmulator) -> None:
    stale.call("POST", "/_local/reset", {})
    assert stale.call("GET", "/_local/stale-objects").json() == {"stale": False}
