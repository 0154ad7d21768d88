"""NFS and Lustre mounts of replicas: folders of this machine, the same for all who name the same share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import JobEmulator, job, messages, pool, running_jobs
from support.tables import every_row
from vertex_emulator.replicas.sandbox.mounts.file_shares import FOLDER
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

PLAIN = Sandbox(kind="process", reason="of a test")
WRITE = "open('/mnt/nfs/data/word', 'w').write('hello')"
READ = "print(open('/mnt/nfs/data/word').read())"


def nfs(point: str = "data", *, path: str = "/exports/data", server: str = "10.0.0.2") -> dict[str, str]:
    return {"server": server, "path": path, "mountPoint": point}


def lustre(point: str = "scratch", *, filesystem: str = "fs") -> dict[str, str]:
    return {
        "instanceIp": "10.0.0.3",
        "volumeHandle": "projects/p/locations/us-central1-a/instances/i",
        "filesystem": filesystem,
        "mountPoint": point,
    }


def with_mounts(code: str, *mounts: dict[str, str], **more: Any) -> dict[str, Any]:
    return {
        **pool(code, **more),
        "nfsMounts": [each for each in mounts if "server" in each],
        "lustreMounts": [each for each in mounts if "server" not in each],
    }


def said(emulator: JobEmulator, *pools: dict[str, Any]) -> list[str]:
    name = emulator.create(*pools)
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED", emulator.get(name)
    return emulator.printed(name)


@pytest.mark.parity(
    "Custom jobs: NFS and Managed Lustre", own_way="folders of this machine, one for each server and path"
)
def test_what_a_replica_writes_another_one_reads(emulator: JobEmulator) -> None:
    wait = "import os, time\nwhile not os.path.exists('/mnt/nfs/in/word'): time.sleep(0.01)\n"
    code = f"{wait}print(open('/mnt/nfs/in/word').read())"
    write = "import time\nf = open('/mnt/nfs/data/new', 'w')\nf.write('hello')\nf.close()\n"
    write += "import os; os.rename('/mnt/nfs/data/new', '/mnt/nfs/data/word')"
    assert said(emulator, with_mounts(code, nfs("in")), with_mounts(write, nfs())) == ["hello"]


def test_what_a_job_writes_a_later_one_reads(emulator: JobEmulator) -> None:
    said(emulator, with_mounts(WRITE, nfs()))
    assert said(emulator, with_mounts(READ.replace("data", "other"), nfs("other"))) == ["hello"]


def test_what_is_put_into_the_folder_is_there(emulator: JobEmulator) -> None:
    folder = emulator.data_dir / FOLDER / "nfs/10.0.0.2/exports/data"
    folder.mkdir(parents=True)
    (folder / "word").write_text("from outside")
    assert said(emulator, with_mounts(READ, nfs())) == ["from outside"]


def test_a_folder_elsewhere_is_shown_by_a_link(emulator: JobEmulator, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "word").write_text("from elsewhere")
    shares = emulator.data_dir / FOLDER / "nfs/10.0.0.2/exports"
    shares.mkdir(parents=True)
    (shares / "data").symlink_to(elsewhere)
    assert said(emulator, with_mounts(READ, nfs())) == ["from elsewhere"]


def test_a_link_into_the_emulators_own_folder_is_not_followed(emulator: JobEmulator) -> None:
    shares = emulator.data_dir / FOLDER / "nfs/10.0.0.2/exports"
    shares.mkdir(parents=True)
    (shares / "data").symlink_to(emulator.data_dir)
    name = emulator.create(with_mounts("import os; print(os.listdir('/mnt/nfs/data'))", nfs()))
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert "leads into the emulator's data folder" in ended["error"]["message"]
    assert emulator.printed(name) == []


def test_a_link_that_a_job_may_have_made_is_not_followed(emulator: JobEmulator, tmp_path: Path) -> None:
    """Else a job had any folder of this machine mounted, and could write to it, in the next."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    said(emulator, with_mounts(f"import os; os.symlink({str(elsewhere)!r}, '/mnt/nfs/data/link')", nfs()))
    name = emulator.create(with_mounts(WRITE, nfs(path="/exports/data/link/below")))
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_FAILED"
    assert "a link in a folder that jobs can write to" in ended["error"]["message"]
    assert list(elsewhere.iterdir()) == []


def test_a_link_that_a_job_may_have_made_elsewhere_is_not_followed(
    emulator: JobEmulator, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shares = emulator.data_dir / FOLDER / "nfs/10.0.0.2/exports"
    shares.mkdir(parents=True)
    (shares / "data").symlink_to(elsewhere)
    (shares / "other").symlink_to(elsewhere)
    said(emulator, with_mounts(f"import os; os.symlink({str(Path.home())!r}, '/mnt/nfs/data/link')", nfs()))
    assert emulator.call("POST", "/_local/reset", {}).status == 200
    shares.mkdir(parents=True)
    (shares / "other").symlink_to(elsewhere)
    ended = emulator.wait(emulator.create(with_mounts("", nfs(path="/exports/other/link"))))
    assert "a link in a folder that jobs can write to" in ended["error"]["message"]


def test_what_is_exported_below_another_path_is_seen_through_both(emulator: JobEmulator) -> None:
    said(emulator, with_mounts(WRITE, nfs(path="/exports/data/deep")))
    code = "print(open('/mnt/nfs/data/deep/word').read())"
    assert said(emulator, with_mounts(code, nfs())) == ["hello"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(nfs("other", path="/exports/other"), id="path"),
        pytest.param(nfs("other", server="10.0.0.9"), id="server"),
    ],
)
def test_another_share_is_another_folder(emulator: JobEmulator, other: dict[str, str]) -> None:
    code = f"{WRITE}; import os; print(os.listdir('/mnt/nfs/other'))"
    assert said(emulator, with_mounts(code, nfs(), other)) == ["[]"]


def test_one_path_in_two_spellings_is_one_share(emulator: JobEmulator) -> None:
    said(emulator, with_mounts(WRITE, nfs()))
    assert said(emulator, with_mounts(READ, nfs(path="//exports/./data/"))) == ["hello"]


@pytest.mark.parity("Custom jobs: NFS and Managed Lustre")
def test_a_lustre_instance(emulator: JobEmulator) -> None:
    said(emulator, with_mounts("open('/mnt/lustre/scratch/x', 'w').write('1')", lustre()))
    code = "import os; print(os.listdir('/mnt/lustre/scratch'), os.listdir('/mnt/lustre/b'))"
    assert said(emulator, with_mounts(code, lustre(), lustre("b", filesystem="other"))) == ["['x'] []"]


def test_a_pool_without_mounts_has_none(emulator: JobEmulator) -> None:
    code = "import os; print(os.path.exists('/mnt/nfs'))"
    assert said(emulator, pool(code), with_mounts("", nfs())) == ["False"]


def test_what_the_host_has_in_mnt_stays(emulator: JobEmulator) -> None:
    code = "import os; print(sorted(os.listdir('/mnt')))"
    with_nfs = sorted({*(each.name for each in Path("/mnt").iterdir()), "nfs"} - {"lustre"})
    assert said(emulator, with_mounts(code, nfs())) == [str(with_nfs)]


def test_the_log_says_which_folder_it_is(emulator: JobEmulator) -> None:
    name = emulator.create(with_mounts("", nfs()))
    emulator.wait(name)
    found = messages(emulator.entries(name, 'resource.labels.task_name="service"'))
    folder = emulator.data_dir / FOLDER / "nfs/10.0.0.2/exports/data"
    [line] = [each for each in found if each.startswith("Emulator: nfs_mounts: /mnt/nfs/data is")]
    assert str(folder) in line
    assert folder.is_dir()


def test_a_reset_empties_the_shares_and_follows_no_link(emulator: JobEmulator, tmp_path: Path) -> None:
    said(emulator, with_mounts(WRITE, nfs()))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "word").write_text("mine")
    (emulator.data_dir / FOLDER / "nfs/linked").symlink_to(elsewhere)
    assert emulator.call("POST", "/_local/reset", {}).status == 200
    assert not (emulator.data_dir / FOLDER).exists()
    assert (elsewhere / "word").read_text() == "mine"


FIRST = "job_spec.worker_pool_specs[0]"


@pytest.mark.parity("Custom jobs: NFS and Managed Lustre")
@every_row(
    ("mount", "field"),
    [
        *(
            pytest.param(nfs(point), f"{FIRST}.nfs_mounts[0].mount_point", id=f"mount point {point!r}")
            for point in ("", ".", "..", "a/b", "/", "/data", "../../gcs", "a\0b", "x" * 256)
        ),
        pytest.param(lustre("../x"), f"{FIRST}.lustre_mounts[0].mount_point", id="Lustre"),
        *(
            pytest.param(nfs(path=path), f"{FIRST}.nfs_mounts[0].path", id=f"path {path!r}")
            for path in ("", "relative", "/a/../../../gcs", "/..", "/a\0", "/" + "x" * 256)
        ),
        *(
            pytest.param(nfs(server=server), f"{FIRST}.nfs_mounts[0].server", id=f"server {server!r}")
            for server in ("", "..", "a/b", ".")
        ),
        pytest.param(
            lustre(filesystem="../../../buckets"), f"{FIRST}.lustre_mounts[0].filesystem", id="file system"
        ),
        pytest.param(
            {**lustre(), "volumeHandle": ""}, f"{FIRST}.lustre_mounts[0].volume_handle", id="no volume"
        ),
    ],
)
def test_what_leads_elsewhere_is_refused(idle: JobEmulator, mount: dict[str, str], field: str) -> None:
    error = idle.refused(job(with_mounts("", mount)))
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert [each["field"] for each in error["details"][0]["fieldViolations"]] == [field]


def test_a_mount_point_is_given_once(idle: JobEmulator) -> None:
    error = idle.refused(job(with_mounts("", nfs(), nfs(path="/other"))))
    assert f"{FIRST}.nfs_mounts[1].mount_point" in error["message"]


@pytest.mark.parity("Custom jobs: NFS and Managed Lustre")
def test_plain_processes_cannot_be_shown_a_folder(tmp_path: Path) -> None:
    with running_jobs(tmp_path, sandbox=PLAIN) as emulator:
        error = emulator.refused(job(with_mounts("", nfs(), lustre())))
    assert error["status"] == "FAILED_PRECONDITION"
    assert f"{FIRST}.nfs_mounts, {FIRST}.lustre_mounts: " in error["message"]
    assert "Allow unprivileged user namespaces" in error["message"]
