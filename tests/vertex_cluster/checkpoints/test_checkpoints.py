"""`vertex_cluster.checkpoints` resumes from the newest whole checkpoint, and says so if it finds none."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.tables import every_row, not_empty
from support.waiting import eventually
from vertex_cluster import checkpoints
from vertex_cluster.checkpoints import CheckpointError, Checkpoints

JOB = {"CLOUD_ML_JOB_ID": "7"}


def write(folder: Path) -> None:
    (folder / "part").mkdir()
    (folder / "part" / "weights").write_bytes(b"12345")
    (folder / "optimizer").write_bytes(b"")


def nothing(_: Path) -> None:
    pass


def opened(folder: Path, **options: Any) -> Checkpoints:
    return Checkpoints(folder, **{"environ": JOB, **options})


def saved(folder: Path, *steps: int, **options: Any) -> None:
    """Train once and save after these steps."""
    store = opened(folder, **options)
    store.resume(nothing)
    for step in steps:
        assert store.save(step, write)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name.startswith("step-"))


def loaded_from(folder: Path, **options: Any) -> str:
    """Return the name of the checkpoint from which a new start resumes; empty for none."""
    seen: list[str] = []
    step = opened(folder, **options).resume(lambda path: seen.append(path.name))
    assert step == (int(seen[0].split("-")[1]) if seen else 0)
    return "".join(seen)


def test_a_start_resumes_from_the_newest_and_the_last_are_kept(tmp_path: Path) -> None:
    assert loaded_from(tmp_path, keep=2) == ""
    saved(tmp_path, 1, 2, 10, 9 + 2, keep=2)
    assert names(tmp_path) == ["step-10-7-2", "step-11-7-2"]
    assert loaded_from(tmp_path) == "step-11-7-2"
    marker = json.loads((tmp_path / "step-11-7-2" / checkpoints.MARKER).read_text())
    assert marker["files"] == {"part/weights": 5, "optimizer": 0}
    assert (marker["step"], marker["job"], marker["attempt"], marker["world_size"]) == (11, "7", 2, 1)


def test_each_start_is_a_new_file_with_its_attempt(tmp_path: Path) -> None:
    saved(tmp_path, 5)
    saved(tmp_path, 8)
    saved(tmp_path, 9, environ={"CLOUD_ML_JOB_ID": "8"})
    found = checkpoints.starts(tmp_path)
    assert [(one.start, one.job, one.attempt, one.step, one.checkpoint) for one in found] == [
        (1, "7", 1, 0, None),
        (2, "7", 2, 5, "step-5-7-1"),
        (3, "8", 1, 8, "step-8-7-2"),
    ]
    assert all(one.loaded and one.world_size == 1 and one.time.endswith("+00:00") for one in found)
    assert len(list((tmp_path / "starts").iterdir())) == 6


def test_the_folder_is_the_first_variable_that_is_set(tmp_path: Path, caplog: Any) -> None:
    both = {"VERTEX_CLUSTER_CHECKPOINT_DIR": "gs://b/all/", "AIP_CHECKPOINT_DIR": "gs://b/run/checkpoints/"}
    assert Checkpoints(environ=both).folder == Path("/gcs/b/all")
    assert Checkpoints(environ={**both, "VERTEX_CLUSTER_CHECKPOINT_DIR": " "}).folder == Path(
        "/gcs/b/run/checkpoints"
    )
    assert Checkpoints(tmp_path, environ=both).folder == tmp_path
    assert not caplog.records
    alone = Checkpoints(environ={})
    assert (alone.folder, alone.resume(nothing), alone.save(1, write), alone.newest()) == (
        None,
        0,
        False,
        None,
    )
    assert "neither VERTEX_CLUSTER_CHECKPOINT_DIR nor AIP_CHECKPOINT_DIR is set" in caplog.text


def test_without_the_mount_it_says_what_to_do(tmp_path: Path) -> None:
    for folder in ("gs://no-such-bucket-x/a/", "/gcs/no-such-bucket-x/a"):
        with pytest.raises(CheckpointError, match=r"gs://no-such-bucket-x/a.*local folder.*Cloud Storage"):
            Checkpoints(folder, environ=JOB).resume(nothing)
    with pytest.raises(CheckpointError, match=r"folder: 's3://b' is not a gs:// URI"):
        Checkpoints("s3://b", environ=JOB)


DAMAGES = {
    "no marker": lambda at: (at / checkpoints.MARKER).unlink(),
    "half a marker": lambda at: os.truncate(at / checkpoints.MARKER, 20),
    "an empty marker": lambda at: os.truncate(at / checkpoints.MARKER, 0),
    "no object": lambda at: (at / checkpoints.MARKER).write_text("[1]"),
    "nested": lambda at: (at / checkpoints.MARKER).write_text("[" * 100_000),
    "binary": lambda at: (at / checkpoints.MARKER).write_bytes(b"\xff\xfe"),
    "a folder": lambda at: (
        (at / checkpoints.MARKER).unlink(),
        (at / checkpoints.MARKER).mkdir(),
    ),
    "a shorter file": lambda at: os.truncate(at / "part" / "weights", 4),
    "a longer file": lambda at: os.truncate(at / "part" / "weights", 6),
    "a missing file": lambda at: (at / "optimizer").unlink(),
    "a missing folder": lambda at: shutil.rmtree(at / "part"),
    "a link": lambda at: ((at / "optimizer").unlink(), (at / "optimizer").symlink_to("/dev/null")),
    "no files": lambda at: marked(at, {}),
    "another step's": lambda at: marked(at, {"optimizer": 0}, step=3),
    "another start's": lambda at: marked(at, {"optimizer": 0}, start=9),
    "a path outside": lambda at: marked(at, {"../step-1-7-1/optimizer": 0}),
    "an absolute path": lambda at: marked(at, {"/etc/passwd": Path("/etc/passwd").stat().st_size}),
    "a NUL": lambda at: marked(at, {"a\0b": 0}),
    "a long name": lambda at: marked(at, {"a" * 5000: 0}),
    "a surrogate": lambda at: marked(at, {"\ud800": 0}),
    "a boolean size": lambda at: marked(at, {"optimizer": False}),
    "a list of files": lambda at: marked(at, ["optimizer"]),
    "a file as a folder": lambda at: marked(at, {"optimizer/x": 0}),
}


def marked(at: Path, files: Any, **changes: Any) -> None:
    marker = {"step": 2, "start": 1, "files": files, **changes}
    (at / checkpoints.MARKER).write_text(json.dumps(marker))


@every_row("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_passed_over(damage: Callable[[Path], Any], tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    saved(folder, 1, 2)
    assert checkpoints.newest(folder).step == 2  # type: ignore[union-attr]
    damage(folder / "step-2-7-1")
    assert loaded_from(folder) == "step-1-7-1"


def test_other_names_are_left_alone(tmp_path: Path) -> None:
    saved(tmp_path, 1, keep=1)
    strange = [
        *(
            "step-2-7",
            "step-02-7-1",
            "step--2-7-1",
            "step-2-7-0",
            "step-2-a b-1",
            "step-2-7-1\n",
            "Step-2-7-1",
        ),
        *("step-99999999999999999999-7-1", "step-٢-7-1", "step-2-..%2Fx-1", "latest", "..."),
    ]
    for name in strange:
        shutil.copytree(tmp_path / "step-1-7-1", tmp_path / name)
    (tmp_path / "step-3-7-1").symlink_to(tmp_path / "step-1-7-1")
    (tmp_path / "step-4-7-1").write_text("a file")
    (tmp_path / os.fsdecode(b"step-\xff-7-1")).mkdir()
    (tmp_path / "starts" / "000001-7.json.part").write_text("half")
    (tmp_path / "starts" / "notes").mkdir()
    saved(tmp_path, 5, keep=1)
    assert names(tmp_path) == sorted(
        {*(name for name in strange if name.startswith("step-")), "step-3-7-1", "step-4-7-1", "step-5-7-2"}
        | {os.fsdecode(b"step-\xff-7-1")}
    )


def test_strange_names_of_files_and_jobs(tmp_path: Path) -> None:
    odd = [b"a b", "ü".encode(), b"\xff", b"new\nline", b'"', b"\\", b"-rf", b".hidden"]

    def odd_files(folder: Path) -> None:
        for name in odd:
            (folder / os.fsdecode(name)).write_bytes(name)

    store = opened(tmp_path, environ={"CLOUD_ML_JOB_ID": "../../7-8.x"})
    store.resume(nothing)
    store.save(1, odd_files)
    assert loaded_from(tmp_path) == "step-1-______7_8_x-1"
    assert [(one.job, one.attempt) for one in checkpoints.starts(tmp_path)] == [("______7_8_x", 1), ("7", 1)]


def test_a_start_whose_file_is_damaged_still_counts(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    for number, text in enumerate(
        ("", '{"step": 1, "chec', "[]", '{"checkpoint": 4, "step": true}'), start=2
    ):
        (tmp_path / "starts" / f"{number:06d}-7.json").write_text(text)
    assert loaded_from(tmp_path) == "step-1-7-1"
    assert [one.attempt for one in checkpoints.starts(tmp_path)] == [1, 2, 3, 4, 5, 6]


def fail(_: Path) -> None:
    raise ValueError("these weights do not fit")


def test_a_checkpoint_that_ends_three_starts_is_given_up(tmp_path: Path, caplog: Any) -> None:
    saved(tmp_path, 1, 2)
    for _ in range(3):
        with pytest.raises(ValueError, match="do not fit"):
            opened(tmp_path).resume(fail)
    assert not caplog.records
    saved(tmp_path, 3, keep=2)  # resumes from step 1, and keeps two others than the one that was given up
    assert "step-2-7-1 is given up: 3 starts ended while they loaded it" in caplog.text
    assert names(tmp_path) == ["step-1-7-1", "step-2-7-1", "step-3-7-5"]
    assert checkpoints.starts(tmp_path)[-1].checkpoint == "step-1-7-1"
    saved(tmp_path, 4, keep=2)
    assert names(tmp_path) == ["step-3-7-5", "step-4-7-6"]


def test_starts_that_end_after_they_have_loaded_do_not_count(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    for _ in range(2):
        with pytest.raises(ValueError, match="do not fit"):
            opened(tmp_path).resume(fail)
    for _ in range(5):
        assert loaded_from(tmp_path) == "step-1-7-1"  # preempted before the next save
    for _ in range(2):
        with pytest.raises(ValueError, match="do not fit"):
            opened(tmp_path).resume(fail)
    assert loaded_from(tmp_path) == "step-1-7-1"


def test_it_never_begins_again_in_silence(tmp_path: Path, caplog: Any) -> None:
    assert loaded_from(tmp_path) == ""
    assert not caplog.records  # the first start
    assert loaded_from(tmp_path) == ""
    assert "start 2 begins at step 0: no checkpoint is whole yet" in caplog.text
    saved(tmp_path, 1)
    (tmp_path / "step-1-7-3" / "optimizer").unlink()
    with pytest.raises(CheckpointError, match=r"none can be used: step-1-7-3\..*allow_new=True"):
        opened(tmp_path).resume(nothing)
    assert opened(tmp_path).resume(nothing, allow_new=True) == 0


def test_checkpoints_that_were_deleted_are_missed(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    saved(tmp_path, 2)
    for name in names(tmp_path):
        shutil.rmtree(tmp_path / name)
    with pytest.raises(CheckpointError, match=r"none is there now, but start 2 resumed from step-1-7-1"):
        opened(tmp_path).resume(nothing)
    assert opened(tmp_path).resume(nothing, allow_new=True) == 0


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Another error than "not found" must not lead to an older checkpoint."""
    saved(tmp_path, 1, 2)
    (tmp_path / "step-2-7-1" / checkpoints.MARKER).unlink()
    (tmp_path / "step-2-7-1" / checkpoints.MARKER).symlink_to("/proc/self/mem")  # reading it fails with EIO
    with pytest.raises(OSError, match="Input/output"):
        opened(tmp_path).resume(nothing)


def test_wrong_uses_are_refused(tmp_path: Path) -> None:
    store = opened(tmp_path)
    with pytest.raises(CheckpointError, match="save was called before resume"):
        store.save(1, write)
    store.resume(nothing)
    with pytest.raises(CheckpointError, match="Call it once"):
        store.resume(nothing)
    with pytest.raises(CheckpointError, match="is empty"):
        store.save(1, nothing)
    with pytest.raises(CheckpointError, match="Save no file of that name"):
        store.save(2, lambda at: (at / checkpoints.MARKER).write_text("{}"))
    with pytest.raises(CheckpointError, match="without links"):
        store.save(3, lambda at: (at / "latest").symlink_to("weights"))
    assert store.save(4, write)
    assert not store.save(4, write)
    with pytest.raises(CheckpointError, match="step 2 comes after step 4"):
        store.save(2, write)
    with pytest.raises(TypeError):
        store.save("5", write)
    for wrong in ({"keep": 0}, {"keep": True}, {"give_up_after": 1.5}):
        with pytest.raises(CheckpointError, match="not a whole number of at least 1"):
            opened(tmp_path, **wrong)
    assert loaded_from(tmp_path) == "step-4-7-1"


def cluster(pool: str, index: int, **pools: int) -> dict[str, str]:
    addresses = {name: [f"{name}-{i}:2222" for i in range(count)] for name, count in pools.items()}
    task = {"type": pool, "index": index}
    return {**JOB, "CLUSTER_SPEC": json.dumps({"cluster": addresses, "task": task})}


def test_several_processes_need_a_barrier_and_others_only_read(tmp_path: Path) -> None:
    pools = {"workerpool0": 1, "workerpool1": 2, "workerpool3": 1}
    with pytest.raises(CheckpointError, match=r"3 processes train.*barrier=torch"):
        opened(tmp_path, environ=cluster("workerpool1", 0, **pools))
    with pytest.raises(CheckpointError, match="4 processes train"):
        opened(tmp_path, environ={**JOB, "RANK": "1", "WORLD_SIZE": "4"})
    saved(tmp_path, 3)
    evaluator = opened(tmp_path, environ=cluster("workerpool3", 0, **pools))
    assert evaluator.newest().step == 3  # type: ignore[union-attr]
    with pytest.raises(CheckpointError, match=r"does not train. Call newest\(\)"):
        evaluator.resume(nothing)


def train_as(rank: int, folder: Path, barrier: Any, results: Any, gate: Any) -> None:
    store = Checkpoints(folder, barrier=barrier.wait, rank=rank, world_size=3, environ=JOB)
    if rank == 0:
        gate.wait()  # the others are earlier, and wait

    def shard(at: Path) -> None:
        (at / f"shard-{rank}").write_text("x" * rank)

    seen: list[str] = []
    store.resume(lambda at: seen.append(at.name))
    first = store.save(10, shard)
    second = store.save(20, shard, sharded=True)
    results.put((rank, seen, first, second))


def test_processes_choose_the_same_checkpoint_and_write_one_together(tmp_path: Path) -> None:
    saved(tmp_path, 1, 2)
    for _ in range(3):
        with pytest.raises(ValueError, match="do not fit"):
            opened(tmp_path).resume(fail)
    context = multiprocessing.get_context("spawn")
    barrier, results, gate = context.Barrier(3), context.Queue(), context.Event()
    ranks = [
        context.Process(target=train_as, args=(rank, tmp_path, barrier, results, gate)) for rank in (2, 1, 0)
    ]
    for process in ranks:
        process.start()
    eventually(lambda: barrier.n_waiting == 2)
    gate.set()
    found = sorted(results.get() for _ in ranks)
    for process in ranks:
        process.join()
    assert [process.exitcode for process in ranks] == [0, 0, 0]
    # The newest was given up by rank 0 alone, and the others follow.
    assert found == [
        (0, ["step-1-7-1"], True, True),
        (1, ["step-1-7-1"], False, False),
        (2, ["step-1-7-1"], False, False),
    ]
    assert sorted(each.name for each in (tmp_path / "step-10-7-5").iterdir()) == [
        checkpoints.MARKER,
        "shard-0",
    ]
    marker = json.loads((tmp_path / "step-20-7-5" / checkpoints.MARKER).read_text())
    assert marker["files"] == {"shard-0": 0, "shard-1": 1, "shard-2": 2}


def test_a_barrier_that_does_not_wait_is_found(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    with pytest.raises(CheckpointError, match="the barrier did not wait for rank 0"):
        Checkpoints(tmp_path, barrier=lambda: None, rank=1, world_size=2, environ=JOB).resume(nothing)


SIGNALLED = """
import os, signal, sys, time
from vertex_cluster import checkpoints
signal.signal(signal.SIGTERM, lambda *_: print("before", flush=True))
stop = checkpoints.sigterm_flag()
begun, begins = os.pipe()
child = os.fork()
if child == 0:
    os.write(begins, b"-")
    while True:
        time.sleep(0.01)
os.read(begun, 1)
os.kill(child, signal.SIGTERM)
print("fork ended by", os.waitpid(child, 0)[1], flush=True)
print("ready", bool(stop), flush=True)
while not stop:
    time.sleep(0.01)
print("stop", stop.is_set(), flush=True)
while True:
    time.sleep(0.01)  # not pause(): the signal may come just before it
"""


def test_sigterm_sets_a_flag_and_a_second_one_ends_the_process() -> None:
    child = subprocess.Popen([sys.executable, "-c", SIGNALLED], stdout=subprocess.PIPE, text=True)
    with child, child.stdout as lines:  # type: ignore[union-attr]
        try:
            assert lines.readline() == f"fork ended by {signal.SIGTERM.value}\n"
            assert lines.readline() == "ready False\n"
            child.terminate()
            assert [lines.readline(), lines.readline()] == ["before\n", "stop True\n"]
            child.terminate()
            assert child.wait() == -signal.SIGTERM
        finally:
            child.kill()


def test_outside_of_the_main_thread_there_is_no_flag(caplog: Any) -> None:
    found: list[checkpoints.SigtermFlag] = []
    thread = threading.Thread(target=lambda: found.append(checkpoints.sigterm_flag()))
    thread.start()
    thread.join()
    assert [bool(flag) for flag in not_empty(found)] == [False]
    assert "main thread" in caplog.text
    found[0].set()
    assert found[0]


def test_the_log_is_the_package_s(tmp_path: Path, caplog: Any) -> None:
    saved(tmp_path)
    with caplog.at_level(logging.WARNING):
        saved(tmp_path)
    assert [record.name for record in caplog.records] == ["vertex_cluster"]


def environment_of(folder: Path) -> Mapping[str, str]:
    return {**JOB, "VERTEX_CLUSTER_CHECKPOINT_DIR": str(folder)}


def test_a_variable_may_be_a_path(tmp_path: Path) -> None:
    Checkpoints(environ=environment_of(tmp_path / "new" / "folder")).resume(nothing)
    assert (tmp_path / "new" / "folder" / "starts").is_dir()
