"""Tuning jobs on the emulator: trials, metrics, cancellation, deletion, lists, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.emulated.job_emulator import (
    DONE,
    SLEEP,
    JobEmulator,
    job_id,
    messages,
    pool,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.emulated.services.studies import (
    MAXIMIZE,
    below,
    categorical,
    discrete,
    double,
    integer,
    study_spec,
)
from support.emulated.services.tuning import (
    JOBS,
    PARSED,
    QUICK,
    create,
    metric_of,
    trial_states,
    tuning_job,
    values_of,
    wait_for_trials,
)
from support.waiting import TIMEOUT, eventually
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

RANDOM = {"algorithm": "RANDOM_SEARCH"}
GRID = {"algorithm": "GRID_SEARCH"}


def test_trials_run_one_after_the_other(emulator: JobEmulator) -> None:
    name = create(emulator, trials=3)
    done = emulator.wait(name)
    assert done["state"] == "JOB_STATE_SUCCEEDED"
    assert trial_states(done) == ["SUCCEEDED"] * 3
    assert [each["id"] for each in done["trials"]] == ["1", "2", "3"]
    assert [each["name"] for each in done["trials"]] == [f"{name}/trials/{n}" for n in (1, 2, 3)]
    for each in done["trials"]:
        assert metric_of(each) == values_of(each)["x"]
    times = [moment for each in done["trials"] for moment in (each["startTime"], each["endTime"])]
    assert times == sorted(times)
    assert done["createTime"] <= done["startTime"] <= done["endTime"] <= done["updateTime"]
    assert "error" not in done


@pytest.mark.parity("Tuning jobs: create, get, list, cancel, delete", fields=("display_name", "labels"))
@pytest.mark.parity(
    "Tuning jobs: encryption keys of tuning jobs",
    not_done="nothing is encrypted",
    fields=("encryption_spec",),
)
def test_a_job_is_answered_as_it_was_created(emulator: JobEmulator) -> None:
    sent = tuning_job(pool(SLEEP), trials=2, labels={"team": "a"}, study=study_spec(double("x", 0.5, 2.0)))
    sent["encryptionSpec"] = {"kmsKeyName": "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"}
    answer = emulator.call("POST", JOBS, sent).json()
    name, created = answer.pop("name"), answer.pop("createTime")
    assert name.startswith("projects/") and "/locations/us-central1/hyperparameterTuningJobs/" in name
    assert name.split("/")[1].isdigit() and job_id(name).isdigit()
    assert answer.pop("updateTime") == created
    assert answer.pop("state") == "JOB_STATE_PENDING"
    pool_sent = answer["trialJobSpec"]["workerPoolSpecs"][0]
    assert pool_sent.pop("diskSpec") == {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}
    assert pool_sent.pop("replicaCount") == "1"
    del sent["trialJobSpec"]["workerPoolSpecs"][0]["replicaCount"]
    assert answer == sent


@pytest.mark.parity(
    "Tuning jobs: trials",
    same="each is a custom job of real processes, distributed ones too",
    fields=("max_trial_count", "parallel_trial_count", "trial_job_spec", "study_spec.parameters"),
)
def test_eight_trials_four_at_a_time(emulator: JobEmulator) -> None:
    """Record the start and end of each trial, and check that at most four overlap."""
    marked = (
        PARSED + "n = os.environ['CLOUD_ML_TRIAL_ID']\n"
        "open(f'/gcs/flags/begin-{n}', 'w').write(repr(time.time()))\n"
        "time.sleep(0.1); report(x)\n"
        "open(f'/gcs/flags/end-{n}', 'w').write(repr(time.time()))\n"
    )
    name = create(emulator, pool(marked), trials=8, parallel=4, study=study_spec(double("x"), **RANDOM))
    seen: list[int] = []

    def ended() -> dict[str, Any] | None:
        job = emulator.get(name)
        seen.append(sum(state in ("REQUESTED", "ACTIVE", "STOPPING") for state in trial_states(job)))
        return job if job["state"] in DONE else None

    done = eventually(ended)
    assert done is not None
    assert done["state"] == "JOB_STATE_SUCCEEDED"
    assert trial_states(done) == ["SUCCEEDED"] * 8
    assert max(seen) == 4
    moments = [
        (float((emulator.flags / f"{kind}-{n}").read_text()), change)
        for n in range(1, 9)
        for kind, change in (("begin", 1), ("end", -1))
    ]
    live = highest = 0
    for _, change in sorted(moments):
        live += change
        highest = max(highest, live)
    assert highest <= 4
    assert len({each["customJob"] for each in done["trials"]}) == 8
    assert all(metric_of(each) == values_of(each)["x"] for each in done["trials"])


def test_logs_of_all_trials_are_there_by_the_id_of_their_job(emulator: JobEmulator) -> None:
    """`gcloud ai hp-tuning-jobs stream-logs` asks for them so, and shows every `insertId` once."""
    name = create(emulator, trials=2, parallel=2)
    trials = emulator.wait(name)["trials"]
    found = emulator.entries(name)
    apart = [entry for each in trials for entry in emulator.entries(each["customJob"])]
    assert sorted(messages(found)) == sorted(messages(apart))
    assert {each["resource"]["labels"]["job_id"] for each in found} == {name.rpartition("/")[2]}
    assert len({each["insertId"] for each in found}) == len(found)


@pytest.mark.parity("Tuning jobs: trials")
def test_a_trial_is_a_custom_job(emulator: JobEmulator) -> None:
    directory = {"baseOutputDirectory": {"outputUriPrefix": "gs://flags/out"}}
    name = create(emulator, trials=1, spec=directory, labels={"team": "a"})
    trial = emulator.wait(name)["trials"][0]
    custom_job = emulator.get(trial["customJob"])
    assert custom_job["state"] == "JOB_STATE_SUCCEEDED"
    assert custom_job["displayName"] == "tune-trial-1"
    assert custom_job["jobSpec"]["baseOutputDirectory"] == {"outputUriPrefix": "gs://flags/out/1/"}
    args = custom_job["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"]
    assert args == [f"--x={values_of(trial)['x']!r}"]
    assert "labels" not in custom_job


@pytest.mark.parity("Tuning jobs: trials")
@pytest.mark.parity("Tuning jobs: metrics")
def test_the_environment_of_a_trial(emulator: JobEmulator) -> None:
    """Check the arguments, number, directories and metric file of all replicas of a distributed trial."""
    tells = (
        "import json, os, sys\n"
        "e = os.environ\n"
        "task = json.loads(e['CLUSTER_SPEC'])['task']\n"
        "found = {n: e[n] for n in ('CLOUD_ML_TRIAL_ID', 'AIP_MODEL_DIR', 'CLOUD_ML_HP_METRIC_TAG')}\n"
        "found |= {'args': sys.argv[1:], 'cluster': task['trial'], 'file': e['CLOUD_ML_HP_METRIC_FILE']}\n"
        "found['tf'] = json.loads(e['TF_CONFIG'])['task']['trial']\n"
        "assert os.path.isdir(os.path.dirname(found['file'])) and not os.path.exists(found['file'])\n"
        "import hypertune\n"
        "t = hypertune.HyperTune()\n"
        "t.report_hyperparameter_tuning_metric('accuracy', 0.5 if task['index'] == 0 else 0.9, 1)\n"
        "open(f\"/gcs/flags/{task['type']}-{task['index']}\", 'w').write(json.dumps(found))\n"
    )
    chief = tells.replace("if task['index'] == 0", "if task['type'] == 'workerpool0'")
    workers = pool(tells.replace("0.5 if task['index'] == 0 else 0.9", "0.9"), replicas=2, args=["--own=1"])
    waits = chief + wait_for_flags("workerpool1-0", "workerpool1-1")
    study = study_spec(double("x"), integer("n", 3, 3), discrete("d", 64), categorical("c", "a b"))
    name = create(
        emulator,
        pool(waits),
        workers,
        trials=1,
        study=study,
        spec={"baseOutputDirectory": {"outputUriPrefix": "gs://flags/out/"}},
    )
    done = emulator.wait(name)
    assert done["state"] == "JOB_STATE_SUCCEEDED", done
    trial = done["trials"][0]
    arguments = [f"--x={values_of(trial)['x']!r}", "--n=3", "--d=64", "--c=a b"]
    for replica in ("workerpool0-0", "workerpool1-0", "workerpool1-1"):
        environment = json.loads((emulator.flags / replica).read_text())
        assert environment.pop("file")
        assert environment == {
            "CLOUD_ML_TRIAL_ID": "1",
            "CLOUD_ML_HP_METRIC_TAG": "accuracy",
            "AIP_MODEL_DIR": "gs://flags/out/1/model/",
            "args": ([] if replica == "workerpool0-0" else ["--own=1"]) + arguments,
            "cluster": "1",
            "tf": "1",
        }
    assert metric_of(trial) == 0.5, "the chief's counts"


@pytest.mark.parity(
    "Tuning jobs: metrics",
    same="the chief's reports, in every kind of sandbox",
    fields=("study_spec.metrics",),
)
def test_metrics_are_read_without_a_sandbox_too(tmp_path: Path) -> None:
    with running_jobs(tmp_path / "data", sandbox=Sandbox(kind="process", reason="of a test")) as emulator:
        name = create(emulator, pool(QUICK), pool(PARSED + "report(2.0)", replicas=2), trials=2)
        done = emulator.wait(name)
        assert done["state"] == "JOB_STATE_SUCCEEDED", done
        assert all(metric_of(each) == values_of(each)["x"] for each in done["trials"])


@pytest.mark.parity("Tuning jobs: metrics")
def test_trials_and_measurements_grow_as_they_run(emulator: JobEmulator) -> None:
    steps = (
        PARSED
        + wait_for_flags("begin")
        + "report(0.1, 1)\n"
        + wait_for_flags("go")
        + "report(0.3, 2)\nreport(0.2, 3)\n"
        + wait_for_flags("end")
    )
    name = create(emulator, pool(steps), trials=2)

    def steps_of(number: int) -> list[str]:
        trials = emulator.get(name).get("trials", [])
        found = trials[number - 1].get("measurements", []) if len(trials) >= number else []
        return [each["stepCount"] for each in found]

    wait_for_trials(emulator, name, 1, "ACTIVE")
    (emulator.flags / "begin").touch()
    eventually(lambda: steps_of(1) == ["1"])
    running = emulator.wait(name, "JOB_STATE_RUNNING")
    emulator.until(lambda: trial_states(emulator.get(name)) == ["ACTIVE"])
    assert "finalMeasurement" not in running["trials"][0] and "endTime" not in running["trials"][0]
    (emulator.flags / "go").touch()
    eventually(lambda: steps_of(1) == ["1", "2", "3"])
    elapsed = [
        float(each["elapsedDuration"].rstrip("s")) for each in emulator.get(name)["trials"][0]["measurements"]
    ]
    assert 0 < elapsed[0] < elapsed[1] <= elapsed[2] < TIMEOUT
    (emulator.flags / "end").touch()
    done = emulator.wait(name)
    assert [each["finalMeasurement"]["stepCount"] for each in done["trials"]] == ["3", "3"]
    assert [metric_of(each) for each in done["trials"]] == [0.2, 0.2]


@pytest.mark.parity("Tuning jobs: the measurement that counts")
def test_the_best_measurement_counts_where_the_study_says_so(emulator: JobEmulator) -> None:
    steps = PARSED + "report(0.1, 1)\nreport(0.3, 2)\nreport(0.2, 3)\n"
    best = study_spec(double("x"), measurementSelectionType="BEST_MEASUREMENT")
    name = create(emulator, pool(steps), trials=1, study=best)
    final = emulator.wait(name)["trials"][0]["finalMeasurement"]
    assert (final["stepCount"], final["metrics"][0]["value"]) == ("2", 0.3)


@pytest.mark.parity("Tuning jobs: metrics")
def test_several_metrics(emulator: JobEmulator) -> None:
    both = [*MAXIMIZE, {"metricId": "loss", "goal": "MINIMIZE"}]
    program = PARSED + "report(x, 1)\nreport(1 - x, 1, 'loss')\nreport(7.0, 1, 'other')\n"
    name = create(emulator, pool(program), trials=7, parallel=2, study=study_spec(double("x"), metrics=both))
    trials = emulator.wait(name)["trials"]
    assert len(trials) == 7
    for trial in trials:
        x = values_of(trial)["x"]
        found = {each["metricId"]: each["value"] for each in trial["finalMeasurement"]["metrics"]}
        assert found == {"accuracy": x, "loss": 1 - x}
        assert len(trial["measurements"]) == 1


@pytest.mark.parity("Tuning jobs: grid search")
def test_a_grid_that_is_used_up_ends_the_job(emulator: JobEmulator) -> None:
    deep = categorical(
        "model",
        "linear",
        "deep",
        conditionalParameterSpecs=[below(integer("layers", 1, 2), "deep")],
    )
    program = PARSED + "report(float(len(sys.argv)))\n"
    name = create(emulator, pool(program), trials=50, parallel=2, study=study_spec(deep, **GRID))
    done = emulator.wait(name)
    assert done["state"] == "JOB_STATE_SUCCEEDED"
    assert [values_of(each) for each in done["trials"]] == [
        {"model": "linear"},
        {"model": "deep", "layers": 1.0},
        {"model": "deep", "layers": 2.0},
    ]
    assert [metric_of(each) for each in done["trials"]] == [2.0, 3.0, 3.0]


def test_the_same_seed_gives_the_same_trials(emulator: JobEmulator) -> None:
    assert emulator.call("PUT", "/_local/tuning-seed", {"seed": 11}).json() == {"seed": 11}
    names = [create(emulator, trials=7) for _ in range(2)]
    one, other = ([values_of(each) for each in emulator.wait(name)["trials"]] for name in names)
    assert one == other
    assert emulator.call("PUT", "/_local/tuning-seed", {"seed": None}).json() == {"seed": None}
    free = emulator.wait(create(emulator, trials=2))
    assert values_of(free["trials"][1]) != one[1]
    assert emulator.call("PUT", "/_local/tuning-seed", {"seed": -1}).status == 400


# --- cancel, delete, list


@pytest.mark.parity("Tuning jobs: create, get, list, cancel, delete")
def test_a_cancelled_job_stops_its_trials(emulator: JobEmulator) -> None:
    program = PARSED + "if os.environ['CLOUD_ML_TRIAL_ID'] == '1': report(x)\n" + SLEEP
    name = create(emulator, pool(program), trials=9, parallel=2)
    wait_for_trials(emulator, name, 2, "ACTIVE")
    eventually(lambda: "measurements" in emulator.get(name)["trials"][0])
    assert emulator.cancel(name).json() == {}
    assert emulator.get(name)["state"] in ("JOB_STATE_CANCELLING", "JOB_STATE_CANCELLED")
    done = emulator.wait(name)
    assert (done["state"], done["error"]["code"]) == ("JOB_STATE_CANCELLED", 1)
    assert trial_states(done) == ["SUCCEEDED", "INFEASIBLE"]
    for trial in done["trials"]:
        assert emulator.get(trial["customJob"])["state"] == "JOB_STATE_CANCELLED"
        wait_until_gone(trial["customJob"])


@pytest.mark.parity(
    "Tuning jobs: create, get, list, cancel, delete",
    same="every field is returned; the trials' custom jobs are deleted with the job",
)
def test_a_job_that_has_ended(emulator: JobEmulator) -> None:
    """List it, refuse to cancel it, and delete it."""
    name = create(emulator, pool(QUICK + wait_for_flags("go")), trials=1)
    wait_for_trials(emulator, name, 1, "ACTIVE")
    assert emulator.delete(name).json()["error"]["status"] == "FAILED_PRECONDITION"
    (emulator.flags / "go").touch()
    custom_job = emulator.wait(name)["trials"][0]["customJob"]
    found = emulator.call("GET", f"{JOBS}?filter=state%3DJOB_STATE_SUCCEEDED&readMask=name").json()
    assert found == {"hyperparameterTuningJobs": [{"name": name}]}
    error = emulator.cancel(name).json()["error"]
    assert error["status"] == "FAILED_PRECONDITION"
    assert error["message"] == (
        f'The HyperparameterTuningJob "{name}" is in state JOB_STATE_SUCCEEDED and cannot be canceled.'
    )
    operation = emulator.delete(name).json()
    assert operation["done"] is True
    assert emulator.call("GET", f"/v1/{operation['name']}").json() == operation
    for gone_name in (name, custom_job):
        assert emulator.call("GET", f"/v1/{gone_name}").status == 404
    assert emulator.delete(name).status == 404


def test_reset_ends_and_forgets_tuning_jobs(emulator: JobEmulator) -> None:
    name = create(emulator, pool(SLEEP), trials=9, parallel=2)
    trials = wait_for_trials(emulator, name, 2, "ACTIVE")
    assert emulator.call("POST", "/_local/reset", {}).status == 200
    assert emulator.call("GET", JOBS).json() == {}
    emulator.settle()
    assert emulator.call("GET", "/_local/jobs").json() == {"jobs": []}
    for trial in trials:
        wait_until_gone(trial["customJob"])


# --- what is refused


def test_violations_have_the_form_of_the_service(emulator: JobEmulator) -> None:
    wrong = tuning_job({**pool(), "replicaCount": 2}, trials=0, study=study_spec(double("x", 2, 1)))
    error = emulator.refused(wrong, path=JOBS)
    assert error["status"] == "INVALID_ARGUMENT"
    assert error["message"].startswith("List of found errors:\t1.Field: ")
    fields = [each["field"] for each in error["details"][0]["fieldViolations"]]
    assert fields == [
        "trial_job_spec.worker_pool_specs[0].replica_count",
        "max_trial_count",
        "study_spec.parameters[0].double_value_spec.max_value",
    ]
    assert emulator.call("GET", JOBS).json() == {}


def test_an_image_that_cannot_run_is_refused_at_once(emulator: JobEmulator) -> None:
    body = tuning_job()
    body["trialJobSpec"]["workerPoolSpecs"][0]["containerSpec"]["imageUri"] = "gcr.io/nobody/nothing:1"
    error = emulator.refused(body, path=JOBS)
    assert error["status"] == "FAILED_PRECONDITION"
    assert "trial_job_spec.worker_pool_specs[0].container_spec.image_uri" in error["message"]


def test_more_processes_than_a_machine_runs_are_refused(emulator: JobEmulator) -> None:
    body = tuning_job(pool(), pool(replicas=99), trials=100, parallel=11)
    assert emulator.refused(body, path=JOBS)["status"] == "FAILED_PRECONDITION"
