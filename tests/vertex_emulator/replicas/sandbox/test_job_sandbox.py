"""The view that a replica has of the machine, in every sandbox that this machine allows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.emulated.job_emulator import JobEmulator, job, pool, running_jobs
from vertex_emulator.replicas.sandbox.children import run
from vertex_emulator.replicas.sandbox.probe import candidates
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.replicas.sandbox.sandbox import Sandbox, View, make_folders, outermost

PLAIN = Sandbox(kind="process", reason="of a test")


def without_notes(said: str) -> str:
    """Leave out which files belong to another user now."""
    return "".join(line for line in said.splitlines(keepends=True) if " on disk, " not in line)


def name_of(kind: Sandbox) -> str:
    return "-".join(
        filter(None, [kind.kind, "user" * kind.user, "pids" * kind.pids, "apart" * bool(kind.host_id)])
    )


KINDS = [*candidates(), PLAIN]
"""On Linux all ways; that they work here is asserted, not assumed."""

NAMES = [name_of(kind) for kind in KINDS]


def output_of(folder: Path, sandbox: Sandbox) -> tuple[int, str]:
    """Run a shell in a view of a data folder; what it said."""
    data = folder / "data"
    for path in ("buckets/b", "jobs/1", "jobs/2"):
        (data / path).mkdir(parents=True)
    (data / "token").write_text("secret")
    (data / "buckets/b/object").write_text("from the bucket\n")
    view = View(
        folder=data / "jobs/1/replica",
        buckets=data / "buckets",
        hidden=data,
        visible=(Path("/usr"),),
        hostname="cmle-training-workerpool0-abc-0",
        hosts="127.0.0.1 localhost cmle-training-workerpool0-abc-0\n",
    )
    make_folders(view)
    script = f"""
        exec 2>&1
        cat /gcs/b/object && echo written > /gcs/b/new && mkdir -p /gcs/b/deep/er
        echo user $(id -u), name $(uname -n)
        cat {data}/token; ls {data}; ls {data}/jobs
        echo mine > /tmp/mine; ls /tmp; echo mine > {view.folder}/home/mine
        mkdir /output && echo made /output
        touch /usr/changed; touch /etc/changed
        getent hosts $(uname -n)
        ls /proc | grep -c '^[0-9]'
    """
    command = Command(
        argv=("sh", "-c", script),
        environment={"PATH": "/usr/bin:/bin"},
        cwd=view.folder / "work",
        sandbox=sandbox,
        view=view,
    )
    code, output = run(command)
    return code, without_notes(output.decode())


def check(folder: Path, said: str, sandbox: Sandbox, *, user: int) -> None:
    data = folder / "data"
    lines = said.splitlines()
    assert lines[0] == "from the bucket"
    assert (data / "buckets/b/new").read_text() == "written\n"
    assert (data / "buckets/b/deep/er").is_dir()
    assert f"user {user}, name cmle-training-workerpool0-abc-0" in lines
    assert "secret" not in said
    assert "2" not in lines, "another job's folder is visible"
    assert "mine" in lines and not Path("/tmp/mine").exists()
    assert (data / "jobs/1/replica/home/mine").exists()
    assert "made /output" in lines and not Path("/output").exists()
    assert not Path("/usr/changed").exists() and not Path("/etc/changed").exists()
    assert "127.0.0.1       localhost cmle-training-workerpool0-abc-0" in lines
    if sandbox.pids:
        assert int(lines[-1]) < 8, "processes of the host are visible"


@pytest.mark.parametrize("sandbox", KINDS[:-1], ids=NAMES[:-1])
def test_the_view_of_a_replica(tmp_path: Path, sandbox: Sandbox) -> None:
    code, said = output_of(tmp_path, sandbox)
    assert code == 0, said
    check(tmp_path, said, sandbox, user=os.getuid())


@pytest.mark.parametrize("sandbox", KINDS, ids=NAMES)
def test_exit_status_and_strays(tmp_path: Path, sandbox: Sandbox) -> None:
    """Whatever the way, the program's own status comes back and nothing of it is left."""
    import psutil

    mark = f"4711.{os.getpid()}"
    view = View(
        folder=tmp_path / "replica",
        buckets=tmp_path,
        hidden=tmp_path / "none",
        visible=(),
        hostname="h",
        hosts="",
    )
    make_folders(view)

    def status(script: str) -> int:
        command = Command(
            argv=("sh", "-c", script),
            environment={"PATH": "/usr/bin:/bin"},
            cwd=view.folder / "work",
            sandbox=sandbox,
            view=None if sandbox.kind == "process" else view,
        )
        return run(command)[0]

    assert status("exit 0") == 0
    assert status("exit 9") == 9
    assert status("kill -TERM $$") == 143
    assert status(f"setsid sh -c 'sleep {mark} & sleep {mark}' & sleep 0.1; exit 4") == 4
    left = [p for p in psutil.process_iter(["cmdline"]) if mark in " ".join(p.info["cmdline"] or [])]
    assert left == []


@pytest.mark.parity(
    "Custom jobs: the output directory",
    same="buckets are folders at /gcs",
    fields=("job_spec.base_output_directory",),
)
@pytest.mark.parity("Cloud Storage: folders under /gcs")
def test_a_job_reads_and_writes_buckets(emulator: JobEmulator) -> None:
    """Objects stored over HTTP are files in /gcs, and the other way round."""
    storage = f"{emulator.daemon.storage_url}"
    from support.emulated.emulator import call

    assert call(storage, "POST", "/storage/v1/b?project=local", body={"name": "digits-data"}).status == 200
    upload = "/upload/storage/v1/b/digits-data/o?uploadType=media&name=in/data.txt"
    assert call(storage, "POST", upload, body=b"1797", headers={"Content-Type": "text/plain"}).status == 200
    for name in ("console/", "removed/"):
        path = f"/upload/storage/v1/b/digits-data/o?uploadType=media&name={name}"
        assert call(storage, "POST", path, body=b"").status == 200
    code = (
        "import pathlib, shutil\n"
        "bucket = pathlib.Path('/gcs/digits-data')\n"
        "(bucket / 'out').mkdir()\n"
        "(bucket / 'out' / 'model.txt').write_text((bucket / 'in' / 'data.txt').read_text() * 2)\n"
        "(bucket / 'in' / 'new.txt').write_text('')\n"
        "(bucket / 'console' / 'x').write_text('')\n"
        "(bucket / 'removed').rmdir()\n"
        "(bucket / 'old' / 'below').mkdir(parents=True)\n"
        "(bucket / 'old').rename(bucket / 'renamed')\n"
        "(bucket / 'tree' / 'x').mkdir(parents=True)\n"
        "shutil.rmtree(bucket / 'tree')"
    )
    assert emulator.wait(emulator.create(pool(code)))["state"] == "JOB_STATE_SUCCEEDED"
    got = call(storage, "GET", "/storage/v1/b/digits-data/o/out%2Fmodel.txt?alt=media")
    assert got.body == b"17971797"
    listed = call(storage, "GET", "/storage/v1/b/digits-data/o?fields=items(name)").json()["items"]
    assert [each["name"] for each in listed] == [
        *("console/", "console/x", "in/data.txt", "in/new.txt"),
        *("out/", "out/model.txt", "renamed/", "renamed/below/"),
    ]


def test_without_a_mount_a_job_that_names_it_is_refused(tmp_path: Path) -> None:
    with running_jobs(tmp_path, sandbox=PLAIN) as emulator:
        body = job(
            pool("open('/gcs/b/x')"),
            pool(args=["--data=/gcs/b"], env=[{"name": "OUT", "value": "/gcs/b/out"}]),
        )
        error = emulator.refused(body)
        assert error["status"] == "FAILED_PRECONDITION"
        pools = "job_spec.worker_pool_specs"
        assert [each["field"] for each in error["details"][0]["fieldViolations"]] == [
            f"{pools}[0].container_spec.command[2]",
            f"{pools}[1].container_spec.args[0]",
            f"{pools}[1].container_spec.env[0].value",
        ]
        assert "kernel.apparmor_restrict_unprivileged_userns" in error["message"]
        other = emulator.create(pool("print('/gcsfuse is another word, and so is /x/gcs-y')"))
        assert emulator.wait(other)["state"] == "JOB_STATE_SUCCEEDED"
        code = "import os; print(os.environ['TMPDIR'], os.getcwd())"
        name = emulator.create(pool(code))
        emulator.wait(name)
        for path in emulator.printed(name)[0].split():
            assert path.startswith(str(emulator.folder(name)))


def test_the_interpreter_may_lie_below_tmp(tmp_path: Path, sandbox: Sandbox) -> None:
    """Run from a clone below /tmp: /tmp is the replica's own, but Python's paths are shown."""
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "found_below_tmp.py").write_text("print('found')")
    view = View(
        folder=tmp_path / "data" / "jobs" / "1",
        buckets=tmp_path,
        hidden=tmp_path / "data",
        visible=(lib,),
        hostname="h",
        hosts="",
    )
    make_folders(view)
    command = Command(
        argv=("sh", "-c", f"exec 2>&1; cat {lib}/*.py; touch {lib}/x; ls {tmp_path}"),
        environment={"PATH": "/usr/bin:/bin"},
        cwd=view.folder / "work",
        sandbox=sandbox,
        view=view,
    )
    _, said = run(command)
    assert b"print('found')" in said
    assert b"Read-only file system" in said
    assert said.decode().splitlines()[-2:] == ["data", "lib"]


def test_the_sandbox_is_shown(emulator: JobEmulator, sandbox: Sandbox) -> None:
    assert sandbox.shows_gcs, f"this machine should allow namespaces: {sandbox.reason}"
    assert "namespaces" in sandbox.describe()
    assert json.dumps(PLAIN.describe()) == '"plain processes without /gcs (of a test)"'


ORPHANS = """
import os, time
ended, held = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.05)
        os._exit(0)
    os.wait()
os.close(held)
os.read(ended, 1)  # nothing, once nobody holds the other end
def zombies():
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            pass  # it has gone meanwhile
    return found
while zombies():
    time.sleep(0.01)
print("no zombies")
"""


def test_an_orphan_that_has_ended_is_gone(emulator: JobEmulator) -> None:
    """Let the first process of the replica's namespace collect it."""
    name = emulator.create(pool(ORPHANS))
    emulator.wait(name)
    assert emulator.printed(name) == ["no zombies"]


def test_a_path_is_shown_once(tmp_path: Path) -> None:
    """Keep a path below a folder that only its owner can enter, or that is hidden."""
    prefix = tmp_path / "prefix"
    plain, closed, hidden = (prefix / name / "packages" for name in ("lib", "closed", "data"))
    for path in (plain, closed, hidden):
        path.mkdir(parents=True)
    closed.parent.chmod(0o700)
    paths = [plain, hidden, prefix, closed, plain, prefix.with_name("prefix-2")]
    shown = (prefix, prefix.with_name("prefix-2"), closed, hidden)
    assert outermost(paths, hidden=hidden.parent) == shown
