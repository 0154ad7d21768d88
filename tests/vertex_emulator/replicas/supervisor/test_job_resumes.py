"""Jobs that are preempted and killed continue from their checkpoints, with `vertex_cluster.checkpoints`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import vertex_cluster
from support.emulated.job_emulator import JobEmulator, job_id, pool
from vertex_cluster import checkpoints

TRAINING = """
import os, sys, time
sys.path.insert(0, "/gcs/code")
import vertex_cluster
from vertex_cluster import checkpoints

weights = [0]
store = checkpoints.Checkpoints(keep=2)
stop = checkpoints.sigterm_flag()
first = store.resume(lambda at: weights.append(int((at / "weights").read_text()))) + 1
print("from", first, "with", weights[-1], flush=True)
for step in range(first, 31):
    weights.append(weights[-1] + step)
    vertex_cluster.report(step=step, total=30)
    if step % 5 == 0 or stop:
        store.save(step, lambda at: (at / "weights").write_text(str(weights[-1])))
    if stop:
        sys.exit(143)
    while step == 12 and store.start.start == 1 or step == 22 and store.start.start == 2:
        if stop:
            break
        open(f"/gcs/flags/held-{step}", "w").close()
        time.sleep(0.01)
print("trained", weights[-1], flush=True)
"""


def folder(emulator: JobEmulator) -> Path:
    code = emulator.data_dir / "buckets" / "code" / "vertex_cluster"
    if not code.exists():
        shutil.copytree(Path(vertex_cluster.__file__).parent, code)
    return emulator.flags / "run" / "checkpoints"


def test_a_spot_job_continues_within_the_job(emulator: JobEmulator) -> None:
    at = folder(emulator)
    name = emulator.create(
        pool(TRAINING),
        scheduling={"strategy": "SPOT"},
        baseOutputDirectory={"outputUriPrefix": "gs://flags/run"},
    )
    path = f"/_local/jobs/{job_id(name)}/replicas/workerpool0-0"
    emulator.until(lambda: (emulator.flags / "held-12").exists())
    assert emulator.call("POST", f"{path}/preempt", {}).status == 200  # with SIGTERM
    emulator.until(lambda: (emulator.flags / "held-22").exists())
    assert emulator.call("POST", f"{path}/kill", {}).status == 200  # with SIGKILL
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED", emulator.printed(name, "workerpool0-0")
    # At the first, step 13 was saved on SIGTERM; at the second, step 20 was the last periodic one.
    assert emulator.printed(name, "workerpool0-0") == [
        "from 1 with 0",
        f"from 14 with {sum(range(14))}",
        f"from 21 with {sum(range(21))}",
        f"trained {sum(range(31))}",
    ]
    report = json.loads((emulator.flags / "run" / "vertex_cluster_progress.json").read_text())
    assert (report["step"], report["resumedFrom"], report["attempt"]) == (30, 20, 3)
    found = checkpoints.starts(at)
    assert [(one.job, one.attempt, one.step) for one in found] == [
        (job_id(name), 1, 0),
        (job_id(name), 2, 13),
        (job_id(name), 3, 20),
    ]
    assert sorted(each.name.split("-")[1] for each in at.glob("step-*")) == ["25", "30"]


def test_the_next_job_continues_from_the_folder_that_it_is_given(emulator: JobEmulator) -> None:
    folder(emulator)
    variable = [{"name": "VERTEX_CLUSTER_CHECKPOINT_DIR", "value": "gs://flags/all/"}]
    for steps, said in ((11, "from 1 with 0"), (31, f"from 11 with {sum(range(11))}")):
        program = TRAINING.replace("31", str(steps)).replace("step == 12", "False").replace("== 22", "< 0")
        name = emulator.create(
            pool(program, env=variable), baseOutputDirectory={"outputUriPrefix": f"gs://flags/{steps}"}
        )
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED", emulator.printed(name, "workerpool0-0")
        assert emulator.printed(name, "workerpool0-0") == [said, f"trained {sum(range(steps))}"]
    assert [one.attempt for one in checkpoints.starts(emulator.flags / "all")] == [1, 1]
