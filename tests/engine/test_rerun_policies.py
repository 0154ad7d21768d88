"""The rerun table on the real engine: what a preview says, what runs again, what is refused."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobState
from support.engine import Engine
from support.waiting import eventually
from vertex_emulator import launcher

URN = "urn:pulumi:test::engine-test::pulumi-python:dynamic/customJob:CustomJob::train"
PROGRAM = """
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            container_spec=vt.ContainerSpecArgs(
                image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
                command=["python3", "-c"],
                args=[{script!r}],
            ),
        )
    ],
    {options}
)
pulumi.export("job", job.id)
"""
LONG = "import time; time.sleep(300)"
FAILS = "raise SystemExit(3)"
QUICK = "print('trained')"


def write(engine: Engine, script: str, options: str = "") -> None:
    engine.write(PROGRAM.format(script=script, options=options))


def jobs(engine: Engine) -> list[custom_jobs.JobRecord]:
    return custom_jobs.list_jobs(engine.endpoint())


def names(engine: Engine) -> list[str]:
    return [job.name for job in jobs(engine)]


def in_state(engine: Engine, *words: str) -> bool:
    return [job.state.word for job in jobs(engine)] == list(words)


def ended(engine: Engine) -> bool:
    return all(job.state.is_terminal for job in jobs(engine))


def test_never_keeps_the_job_and_its_spec(engine: Engine) -> None:
    write(engine, QUICK, 'wait="done", rerun="never"')
    engine.up().ok()
    before = names(engine)
    write(engine, "print('other')", 'wait="done", rerun="never"')
    stays = "train stays: its spec changed, but rerun is never"
    assert stays in engine.preview("--expect-no-changes").ok().output
    assert stays in engine.up("--expect-no-changes").ok().output
    assert "rerun is never; set rerun to on_change first" in engine.up("--replace", URN).failed().output
    assert names(engine) == before

    # the change is not lost: it is due with another policy
    write(engine, "print('other')", 'wait="done"')
    assert "train will run again: its spec changed" in engine.preview().ok().output
    engine.up().ok()
    (job,) = jobs(engine)
    assert job.name not in before


def test_on_failure_stops_at_its_limit(engine: Engine) -> None:
    options = 'wait="none", rerun="on_failure", rerun_limit=1'
    write(engine, FAILS, options)
    engine.up().ok()
    eventually(lambda: in_state(engine, "FAILED"))
    first = names(engine)
    assert "train will run again: it failed, rerun 1 of 1" in engine.preview().ok().output
    engine.up().ok()
    assert names(engine) != first
    eventually(lambda: in_state(engine, "FAILED"))
    second = names(engine)
    assert "limit of reruns on failure, 1, is reached" in engine.up("--expect-no-changes").ok().output
    assert names(engine) == second


def test_a_deployment_asks_an_emulator_that_had_left(engine: Engine) -> None:
    options = 'wait="none", rerun="on_failure"'
    write(engine, FAILS, options)
    engine.up().ok()
    eventually(lambda: in_state(engine, "FAILED"))
    first = names(engine)
    launcher.stop(engine.data_dir)
    assert "the state of the jobs of" not in engine.preview("--expect-no-changes").ok().output
    assert launcher.find(engine.data_dir) is None
    engine.up().ok()
    assert names(engine) != first


def test_a_protected_job_is_not_replaced_on_demand_after_a_refresh_either(engine: Engine) -> None:
    write(engine, LONG, "protect_running=True")
    engine.up().ok()
    before = names(engine)
    refused = engine.up("--refresh", "--replace", URN).failed().output
    assert "a replacement was requested, but it is running" in refused
    assert names(engine) == before
    write(engine, LONG)
    engine.up().ok()


def test_always_runs_again_once_the_run_before_has_ended(engine: Engine) -> None:
    write(engine, LONG, 'rerun="always"')
    engine.up().ok()
    first = names(engine)
    engine.up("--expect-no-changes").ok()
    assert names(engine) == first
    custom_jobs.cancel(engine.endpoint(), first[0])
    eventually(lambda: ended(engine))
    assert "train will run again: it was cancelled, and rerun is always" in engine.preview().ok().output
    engine.up().ok()
    assert len(names(engine)) == 1
    assert names(engine) != first


def test_a_protected_job_is_neither_replaced_nor_destroyed_while_it_is_live(engine: Engine) -> None:
    write(engine, LONG, "protect_running=True")
    engine.up().ok()
    before = names(engine)
    write(engine, QUICK, "protect_running=True")
    refused = "train cannot be replaced: its spec changed, but it is running and protect_running is set"
    assert refused in engine.preview().failed().output
    assert refused in engine.up().failed().output
    assert "train cannot be destroyed: it is running" in engine.destroy().failed().output
    write(engine, LONG, "protect_running=True")
    replaced = engine.up("--replace", URN).failed().output
    assert "a replacement was requested, but it is running" in replaced
    assert names(engine) == before
    assert in_state(engine, "RUNNING")

    # the declaration of the deployment counts, not the one on record
    write(engine, LONG)
    engine.up("--replace", URN).ok()
    (job,) = jobs(engine)
    assert job.name not in before


def test_a_policy_alone_is_updated_in_place(engine: Engine) -> None:
    write(engine, QUICK, 'wait="done"')
    engine.up().ok()
    before = engine.outputs()
    options = 'wait="done", rerun="on_failure", rerun_limit=3, protect_running=True, on_delete="cancel"'
    write(engine, QUICK, options)
    assert "1 to update" in engine.preview("--diff").ok().output
    engine.up().ok()
    assert engine.outputs() == before
    engine.up("--expect-no-changes").ok()
    (recorded,) = [one["outputs"] for one in engine.state() if one["type"].endswith(":CustomJob")]
    assert (recorded["rerun"], recorded["on_delete"]) == ("on_failure", "cancel")


def test_the_record_stays_where_it_is_wanted(engine: Engine) -> None:
    write(engine, LONG, 'on_delete="cancel"')
    engine.up().ok()
    before = names(engine)
    engine.destroy().ok()
    assert names(engine) == before
    assert in_state(engine, "CANCELLED")
    custom_jobs.delete(engine.endpoint(), before[0])


def test_a_job_that_changed_behind_our_back_is_shown_as_what_it_is(engine: Engine) -> None:
    write(engine, LONG)
    engine.up().ok()
    (job,) = jobs(engine)
    custom_jobs.cancel(engine.endpoint(), job.name)
    eventually(lambda: jobs(engine)[0].state is JobState.JOB_STATE_CANCELLED)
    assert (
        "train stays: it was cancelled, and rerun is on_change"
        in engine.preview("--expect-no-changes").ok().output
    )

    custom_jobs.delete(engine.endpoint(), job.name)
    assert "train will run again: it was deleted, and its end is not recorded" in engine.preview().ok().output
    engine.up().ok()
    (again,) = jobs(engine)
    assert again.name != job.name


def test_a_failed_job_stays_failed_and_a_preview_says_so(engine: Engine) -> None:
    write(engine, FAILS, 'wait="none"')
    engine.up().ok()
    eventually(lambda: in_state(engine, "FAILED"))
    said = "train stays: it failed, and rerun is on_change; give it another run_token"
    assert said in engine.preview("--expect-no-changes").ok().output

    # once it is recorded as ended, a record that is deleted changes nothing
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    custom_jobs.delete(engine.endpoint(), names(engine)[0])
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    assert said in engine.preview("--expect-no-changes").ok().output


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            'rerun="sometimes"',
            "rerun is 'sometimes'; it must be 'on_change', 'on_failure', 'always' or 'never'",
        ),
        ("rerun_limit=-1", "rerun_limit is -1; it must be a whole number, 0 or more"),
        ('on_delete="keep"', "on_delete is 'keep'; it must be 'delete' or 'cancel'"),
    ],
)
def test_a_policy_that_there_is_not_is_refused(engine: Engine, option: str, said: str) -> None:
    write(engine, QUICK, option)
    assert said in engine.preview().failed().output
