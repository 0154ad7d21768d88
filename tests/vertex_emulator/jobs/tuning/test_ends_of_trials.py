"""Trials that fail, and trials and studies that are stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.jobs import from_wire
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.view import count_trials
from pulumi_vertex_training.views.study_view import cancelled_job_keys
from support.emulated.job_emulator import (
    SLEEP,
    JobEmulator,
    pool,
    raise_flag,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.emulated.services.studies import double, study_spec
from support.emulated.services.tuning import (
    PARSED,
    QUICK,
    create,
    end_tuning,
    metric_of,
    trial_states,
    wait_for_trials,
)
from support.waiting import eventually
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

# --- failures


@pytest.mark.parity(
    "Tuning jobs: failed trials",
    own_way="the same; further thresholds of the default are ours",
    fields=("max_failed_trial_count",),
)
def test_a_trial_that_fails_is_infeasible_and_the_job_goes_on(emulator: JobEmulator) -> None:
    program = PARSED + "if os.environ['CLOUD_ML_TRIAL_ID'] == '2': raise SystemExit('diverged')\nreport(x)\n"
    done = emulator.wait(create(emulator, pool(program), trials=4))
    assert done["state"] == "JOB_STATE_SUCCEEDED"
    assert trial_states(done) == ["SUCCEEDED", "INFEASIBLE", "SUCCEEDED", "SUCCEEDED"]
    failed = done["trials"][1]
    assert "exited with a non-zero status of 1" in failed["infeasibleReason"]
    assert "diverged" in failed["infeasibleReason"]
    assert "finalMeasurement" not in failed and "endTime" in failed


@pytest.mark.parity("Tuning jobs: failed trials")
def test_so_many_failed_trials_fail_the_job(emulator: JobEmulator) -> None:
    program = PARSED + "raise SystemExit('diverged')\n"
    done = emulator.wait(create(emulator, pool(program), trials=9, failed=2))
    assert done["state"] == "JOB_STATE_FAILED"
    assert trial_states(done) == ["INFEASIBLE"] * 2
    assert done["error"]["message"].startswith("2 of 2 trials did not succeed. Trial 2: The replica")


@pytest.mark.parity("Tuning jobs: failed trials")
def test_a_first_trial_that_fails_ends_the_job(emulator: JobEmulator) -> None:
    done = emulator.wait(create(emulator, pool(PARSED + "raise SystemExit('diverged')\n"), trials=9))
    assert (done["state"], trial_states(done)) == ("JOB_STATE_FAILED", ["INFEASIBLE"])


def test_a_job_that_fails_stops_its_other_trials(emulator: JobEmulator) -> None:
    program = (
        f"{PARSED}if os.environ['CLOUD_ML_TRIAL_ID'] == '1':\n"
        f"    report(x); {raise_flag('reported')}    time.sleep(600)\n"
        f"{wait_for_flags('reported')}raise SystemExit('diverged')\n"
    )
    name = create(emulator, pool(program), trials=9, parallel=2, failed=1)
    done = emulator.wait(name)
    assert done["state"] == "JOB_STATE_FAILED"
    assert trial_states(done) == ["SUCCEEDED", "INFEASIBLE"], "the first had reported when it was stopped"
    wait_until_gone(done["trials"][0]["customJob"])


def test_the_reason_of_a_failed_job_is_that_of_a_trial_that_failed_by_itself(emulator: JobEmulator) -> None:
    program = (
        PARSED + "if os.environ['CLOUD_ML_TRIAL_ID'] == '2': time.sleep(600)\nraise SystemExit('diverged')\n"
    )
    done = emulator.wait(create(emulator, pool(program), trials=9, parallel=2, failed=1))
    assert trial_states(done) == ["INFEASIBLE", "INFEASIBLE"]
    assert "Trial 1: The replica workerpool0-0 exited" in done["error"]["message"]


def test_a_trial_without_its_metric_is_infeasible(emulator: JobEmulator) -> None:
    done = emulator.wait(create(emulator, pool(PARSED + "report(x, 1, 'acuracy')"), trials=1))
    assert done["state"] == "JOB_STATE_FAILED"
    assert done["trials"][0]["infeasibleReason"] == (
        "The trial ended without reporting the metric 'accuracy'. It reported 'acuracy'."
    )


@pytest.mark.parity("Tuning jobs: metrics")
def test_a_metric_file_of_garbage_breaks_nothing(emulator: JobEmulator) -> None:
    program = PARSED + (
        "path = os.environ['CLOUD_ML_HP_METRIC_FILE']\n"
        "file = open(path, 'wb')\n"
        "file.write(os.urandom(100_000) + b'\\n' + b'x' * 2_000_000 + b'\\n')\n"
        "for value in ('nan', 'inf', '-inf', 'x', '0.25'):\n"
        "    file.write(json.dumps({'accuracy': value, 'global_step': '1'}).encode() + b'\\n')\n"
        'file.write(b\'{"accuracy": "0.\')\n'
    )
    done = emulator.wait(create(emulator, pool(program), trials=1))
    assert done["state"] == "JOB_STATE_SUCCEEDED"
    assert metric_of(done["trials"][0]) == 0.25


@pytest.mark.parametrize(
    "make",
    [
        pytest.param("os.symlink('/etc/passwd', path)", id="link"),
        pytest.param("os.mkfifo(path)", id="pipe"),
        pytest.param("os.mkdir(path)", id="folder"),
    ],
)
def test_what_is_no_metric_file_stops_nobody(emulator: JobEmulator, make: str) -> None:
    program = PARSED + f"path = os.environ['CLOUD_ML_HP_METRIC_FILE']\n{make}\ntime.sleep(0.5)\n"
    done = emulator.wait(create(emulator, pool(program), trials=1))
    assert trial_states(done) == ["INFEASIBLE"]


def test_a_custom_job_that_somebody_cancels_is_an_infeasible_trial(emulator: JobEmulator) -> None:
    program = PARSED + "report(x)\nif os.environ['CLOUD_ML_TRIAL_ID'] == '2': time.sleep(600)\n"
    name = create(emulator, pool(program), trials=3)
    emulator.until(lambda: trial_states(emulator.get(name)) == ["SUCCEEDED", "ACTIVE"])
    emulator.cancel(emulator.get(name)["trials"][1]["customJob"])
    done = emulator.wait(name)
    assert trial_states(done) == ["SUCCEEDED", "INFEASIBLE", "SUCCEEDED"]
    assert done["trials"][1]["infeasibleReason"] == "The job was cancelled."


MEDIAN = {"medianAutomatedStoppingSpec": {}}


# --- stopping


@pytest.mark.parity("Tuning jobs: early stopping")
def test_early_stopping_stops_a_real_process(emulator: JobEmulator) -> None:
    """Stop the third trial, which is far below the others and would sleep for ten minutes."""
    program = PARSED + (
        "bad = os.environ['CLOUD_ML_TRIAL_ID'] == '3'\n"
        "for step in (1, 2, 3): report(0.01 * step if bad else 0.5 + 0.1 * step, step)\n"
        "if bad: time.sleep(600)\n"
    )
    name = create(emulator, pool(program), trials=4, study=study_spec(double("x"), **MEDIAN))
    done = emulator.wait(name)
    assert done["state"] == "JOB_STATE_SUCCEEDED"
    assert trial_states(done) == ["SUCCEEDED"] * 4
    stopped = done["trials"][2]
    assert (metric_of(stopped), stopped["finalMeasurement"]["stepCount"]) == (0.03, "3")
    job = emulator.get(stopped["customJob"])
    assert job["state"] == "JOB_STATE_CANCELLED"
    assert count_trials(from_wire(done), cancelled_job_keys([from_wire(job)])).stopped_early == 1
    wait_until_gone(stopped["customJob"])


def test_a_trial_that_is_being_stopped_is_stopping(tmp_path: Path, sandbox: Sandbox) -> None:
    """Ignore SIGTERM until the state was seen."""
    program = PARSED + (
        "import signal; signal.signal(15, signal.SIG_IGN)\n"
        "bad = os.environ['CLOUD_ML_TRIAL_ID'] == '2'\n"
        "report(0.1 if bad else 0.9)\n"
        "if not bad: sys.exit()\n"
    )
    program += wait_for_flags("seen")
    with running_jobs(tmp_path / "data", sandbox=sandbox, grace=600) as emulator:
        name = create(emulator, pool(program), trials=2, study=study_spec(double("x"), **MEDIAN))
        trials = wait_for_trials(emulator, name, 1, "STOPPING")
        assert "finalMeasurement" not in trials[1]
        (emulator.flags / "seen").touch()
        assert trial_states(emulator.wait(name)) == ["SUCCEEDED", "SUCCEEDED"]
        end_tuning(emulator)


def test_a_trial_stopped_by_the_convex_rule_has_a_predicted_measurement(emulator: JobEmulator) -> None:
    rule = {"convexAutomatedStoppingSpec": {"minMeasurementCount": 2, "maxStepCount": 50}}
    program = PARSED + (
        "bad = os.environ['CLOUD_ML_TRIAL_ID'] == '4'\n"
        "values = (0.05, 0.06, 0.065, 0.067, 0.068, 0.0685) if bad else (0.5, 0.7, 0.8, 0.85, 0.87, 0.9)\n"
        "for step, value in enumerate(values, start=1): report(value, step)\n"
        "if bad: time.sleep(600)\n"
    )
    name = create(emulator, pool(program), trials=4, study=study_spec(double("x"), **rule))
    stopped = emulator.wait(name)["trials"][3]
    assert stopped["finalMeasurement"]["stepCount"] == "50"
    assert 0.0685 < metric_of(stopped) < 0.08
    assert [each["stepCount"] for each in stopped["measurements"]] == ["1", "2", "3", "4", "5", "6", "50"]


@pytest.mark.parity("Tuning jobs: the end of a study")
def test_a_study_without_progress_stops(emulator: JobEmulator) -> None:
    program = PARSED + "report(1 / float(os.environ['CLOUD_ML_TRIAL_ID']))\n"
    spec = study_spec(double("x"), studyStoppingConfig={"maxNumTrialsNoProgress": 2})
    done = emulator.wait(create(emulator, pool(program), trials=9, study=spec))
    assert (done["state"], len(done["trials"])) == ("JOB_STATE_SUCCEEDED", 3)


@pytest.mark.parity(
    "Tuning jobs: the end of a study",
    same="by the emulator's clock",
    fields=("study_spec.study_stopping_config",),
)
def test_a_study_stops_after_so_many_trials(emulator: JobEmulator) -> None:
    spec = study_spec(double("x"), studyStoppingConfig={"maxNumTrials": 3})
    done = emulator.wait(create(emulator, trials=9, parallel=2, study=spec))
    assert (done["state"], trial_states(done)) == ("JOB_STATE_SUCCEEDED", ["SUCCEEDED"] * 3)


@pytest.mark.parity("Tuning jobs: the end of a study")
def test_trials_end_after_the_duration_of_the_study(emulator: JobEmulator) -> None:
    """Advance the emulator's clock beyond the study's duration."""
    spec = study_spec(double("x"), studyStoppingConfig={"maximumRuntimeConstraint": {"maxDuration": "3600s"}})
    name = create(emulator, pool(QUICK + wait_for_flags("go")), trials=9, study=spec)
    wait_for_trials(emulator, name, 1, "ACTIVE")
    assert emulator.call("POST", "/_local/clock/advance", {"seconds": 4000}).status == 200
    (emulator.flags / "go").touch()
    done = emulator.wait(name)
    assert (done["state"], trial_states(done)) == ("JOB_STATE_SUCCEEDED", ["SUCCEEDED"])


def test_a_study_that_stops_as_soon_as_possible_stops_its_trials(emulator: JobEmulator) -> None:
    config = {"maximumRuntimeConstraint": {"maxDuration": "3600s"}, "shouldStopAsap": True}
    spec = study_spec(double("x"), studyStoppingConfig=config)
    program = PARSED + "if os.environ['CLOUD_ML_TRIAL_ID'] == '1': report(x)\n" + raise_flag("up") + SLEEP
    name = create(emulator, pool(program), trials=9, parallel=2, study=spec)
    eventually(lambda: "measurements" in (emulator.get(name).get("trials") or [{}])[0])
    emulator.call("POST", "/_local/clock/advance", {"seconds": 4000})
    done = emulator.wait(name)
    assert done["state"] == "JOB_STATE_SUCCEEDED"
    assert trial_states(done) == ["SUCCEEDED", "INFEASIBLE"]
    assert done["trials"][1]["infeasibleReason"] == (
        "The trial was stopped before it reported the metric 'accuracy'."
    )
