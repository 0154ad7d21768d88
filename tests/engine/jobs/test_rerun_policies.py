"""The rerun table on the real engine: the sentences of a preview, the runs, and the refusals."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.engine import Engine, Result
from support.client.shared_engine import operation
from support.waiting import eventually
from vertex_emulator.client import launcher

# Shown quicker in tests/pulumi_vertex_training: core/running/test_rerun_policies.py, runs/policies
pytestmark = pytest.mark.slow

URN = "urn:pulumi:test::engine-test::pulumi-python:dynamic/customJob:CustomJob::{}"
PROGRAM = """
def declare(name, script, **options):
    image = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
    container = vt.ContainerSpecArgs(image_uri=image, command=["python3", "-c"], args=[script])
    machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
    pool = vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=container)
    return vt.CustomJob(name, worker_pool_specs=[pool], **options)


"""
LONG = "import time; time.sleep(600)"
FAILS = "raise SystemExit(3)"
QUICK = "print('trained')"
OTHER = "print('other')"

Declared = dict[str, str]
"""The arguments of each job by its name, as the program has them."""

FIRST: Declared = {
    "never": f'{QUICK!r}, wait="done", rerun="never"',
    "on-failure": f'{FAILS!r}, wait="none", rerun="on_failure", rerun_limit=1',
    "always": f'{LONG!r}, rerun="always"',
    "protected": f"{LONG!r}, protect_running=True",
    "policy": f'{QUICK!r}, wait="done"',
    "kept": f'{LONG!r}, on_delete="cancel"',
    "touched": f"{LONG!r}",
    "failed": f'{FAILS!r}, wait="none"',
}
RENAMED = 'display_name="{0}", opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name="{0}")])'
"""The options of `never` and `protected`, which have other names from the second deployment on."""
STEADY: Declared = {name: it for name, it in FIRST.items() if name not in ("never", "protected")}
SECOND: Declared = {
    **STEADY,
    "never-again": f'{OTHER!r}, wait="done", rerun="never", {RENAMED.format("never")}',
    "protected-again": f"{LONG!r}, protect_running=True, {RENAMED.format('protected')}",
    "policy": f'{QUICK!r}, wait="done", rerun="on_failure", rerun_limit=3, protect_running=True, '
    'on_delete="cancel"',
}
LAST: Declared = {
    **SECOND,
    "never-again": f'{OTHER!r}, wait="done", {RENAMED.format("never")}',
    "protected-again": f"{LONG!r}, {RENAMED.format('protected')}",
}


def write(engine: Engine, declared: Declared) -> None:
    lines = [f"pulumi.export({name!r}, declare({name!r}, {it}).id)\n" for name, it in declared.items()]
    engine.write(PROGRAM + "".join(lines))


def jobs(engine: Engine) -> dict[str, custom_jobs.JobRecord]:
    """Return the newest job of each resource, by the name of the resource; all others have ended."""
    found = sorted(custom_jobs.list_jobs(engine.endpoint()), key=lambda job: job.create_time or "")
    by_name = {job.display_name: job for job in found}
    assert all(job.state.is_terminal for job in found if job.name != by_name[job.display_name].name)
    return by_name


def until(engine: Engine, **states: str) -> None:
    def is_reached() -> bool:
        found = {name: job.state.word for name, job in jobs(engine).items()}
        return all(found[name.replace("_", "-")] == state for name, state in states.items())

    eventually(is_reached)


@dataclass(kw_only=True)
class Steps:
    """The output of each command on one stack, and the service's jobs at the time."""

    stopped: Result
    is_still_stopped: bool
    preview: Result
    second: Result
    preview_of_third: Result
    third: Result
    refreshed_on_demand: Result
    after_refresh: Result
    never_on_demand: Result
    preview_of_change: Result
    destroyed: Result
    before_last: dict[str, custom_jobs.JobRecord]
    destroyed_all: Result
    names: list[dict[str, str]]
    """The jobs after each deployment."""
    outputs: list[dict[str, str]]
    recorded: dict[str, str]
    """The policies of `policy` in the state."""
    left: dict[str, custom_jobs.JobRecord]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    names: list[dict[str, str]] = []
    outputs: list[dict[str, str]] = []

    def note(result: Result) -> Result:
        result.ok()
        names.append({name: job.name for name, job in jobs(engine).items()})
        outputs.append(engine.outputs())
        return result

    write(engine, FIRST)
    note(engine.up())
    until(engine, on_failure="FAILED", failed="FAILED")
    launcher.stop(engine.data_dir)
    stopped = engine.preview("--expect-no-changes")
    is_still_stopped = launcher.find(engine.data_dir) is None

    launcher.ensure(engine.data_dir)
    for name in ("always", "touched"):
        custom_jobs.cancel(engine.endpoint(), names[0][name])
    until(engine, always="CANCELLED", touched="CANCELLED")
    write(engine, SECOND)
    preview = engine.preview()
    launcher.stop(engine.data_dir)
    second = note(engine.up())

    until(engine, on_failure="FAILED")
    custom_jobs.delete(engine.endpoint(), names[0]["touched"])
    preview_of_third, third = engine.preview_and_up()
    note(third)
    (recorded,) = [one["outputs"] for one in engine.state() if one["urn"].endswith(":CustomJob::policy")]

    protected = ("--replace", URN.format("protected-again"))
    refreshed_on_demand = engine.up("--refresh", *protected)
    custom_jobs.delete(engine.endpoint(), names[0]["failed"])
    never_on_demand = engine.up("--refresh", "--replace", URN.format("never-again"))
    changed = f"{QUICK!r}, protect_running=True, {RENAMED.format('protected')}"
    write(engine, {**SECOND, "protected-again": changed})
    preview_of_change = engine.preview()
    destroyed = engine.run(
        "destroy", "--yes", "--skip-preview", "--non-interactive", "--target", URN.format("protected-again")
    )
    before_last = jobs(engine)

    write(engine, LAST)
    after_refresh, last = engine.preview_and_up(*protected)
    note(last)
    return Steps(
        stopped=stopped,
        is_still_stopped=is_still_stopped,
        preview=preview,
        second=second,
        preview_of_third=preview_of_third,
        third=third,
        refreshed_on_demand=refreshed_on_demand,
        after_refresh=after_refresh,
        never_on_demand=never_on_demand,
        preview_of_change=preview_of_change,
        destroyed=destroyed,
        before_last=before_last,
        names=names,
        outputs=outputs,
        recorded=recorded,
        destroyed_all=engine.destroy(),
        left=jobs(engine),
    )


def test_never_keeps_the_job_and_its_spec(steps: Steps) -> None:
    stays = "stays: its spec changed, but rerun is never"
    for each in (steps.preview, steps.second, steps.third):
        assert stays in each.output
        assert operation(each.output, "never") == ""
    assert "rerun is never; set rerun to on_change first" in steps.never_on_demand.failed().output
    first = steps.names[0]["never"]
    assert [first] * 3 == [each["never"] for each in steps.names[:3]]
    assert steps.before_last["never"].name == first


def test_a_change_that_never_kept_back_is_due_with_another_policy(steps: Steps) -> None:
    assert "never-again will run again: its spec changed" in steps.after_refresh.ok().output
    assert steps.names[3]["never"] != steps.names[2]["never"]


def test_on_failure_stops_at_its_limit(steps: Steps) -> None:
    assert "on-failure will run again: it failed, rerun 1 of 1" in steps.preview.output
    first, second, third = (each["on-failure"] for each in steps.names[:3])
    assert first != second
    assert "limit of reruns on failure, 1, is reached" in steps.third.output
    assert operation(steps.third.output, "on-failure") == ""
    assert third == second


def test_a_preview_starts_no_emulator_and_a_deployment_asks_one_that_had_stopped(steps: Steps) -> None:
    assert "the state of the jobs of" not in steps.stopped.ok().output
    assert steps.is_still_stopped
    assert steps.names[1]["on-failure"] != steps.names[0]["on-failure"]


def test_a_protected_job_is_not_replaced_on_demand_after_a_refresh_either(steps: Steps) -> None:
    refused = steps.refreshed_on_demand.failed().output
    assert "a replacement was requested, but it is running" in refused
    assert steps.before_last["protected"].name == steps.names[0]["protected"]


def test_always_runs_again_once_the_run_before_has_ended(steps: Steps) -> None:
    assert "always will run again: it was cancelled, and rerun is always" in steps.preview.ok().output
    first, second, third = (each["always"] for each in steps.names[:3])
    assert first != second
    assert operation(steps.preview.output, "always") != ""
    assert third == second
    assert operation(steps.third.output, "always") == ""


def test_a_protected_job_is_neither_replaced_nor_destroyed_while_it_is_live(steps: Steps) -> None:
    said = steps.preview_of_change.failed().output
    assert "protected-again cannot be replaced: its spec changed, but it is running and " in said
    assert "cannot be destroyed: it is running" in steps.destroyed.failed().output
    job = steps.before_last["protected"]
    assert (job.name, job.state.word) == (steps.names[0]["protected"], "RUNNING")


def test_the_declared_protection_counts_and_not_the_recorded_one(steps: Steps) -> None:
    assert steps.names[3]["protected"] != steps.names[2]["protected"]


def test_a_policy_alone_is_updated_in_place(steps: Steps) -> None:
    assert operation(steps.preview.output, "policy") == "~"
    assert operation(steps.second.output, "policy") == "~"
    assert operation(steps.third.output, "policy") == ""
    before, *after = (each["policy"] for each in steps.outputs[:3])
    assert after == [before, before]
    assert (steps.recorded["rerun"], steps.recorded["on_delete"]) == ("on_failure", "cancel")


def test_on_delete_cancel_keeps_the_record(steps: Steps) -> None:
    steps.destroyed_all.ok()
    kept = steps.left["kept"]
    assert (kept.name, kept.state.word) == (steps.names[0]["kept"], "CANCELLED")


def test_a_job_that_was_cancelled_outside_stays_cancelled_without_its_record(
    steps: Steps,
) -> None:
    """Keep a job whose end the second deployment has seen and recorded."""
    stays = "touched stays: it was cancelled, and rerun is on_change"
    assert stays in steps.preview.output
    assert operation(steps.preview.output, "touched") == ""
    assert stays in steps.preview_of_third.ok().output
    first, second, third = (each.get("touched") for each in steps.names[:3])
    assert first == second
    assert third is None


def test_a_failed_job_stays_failed_and_a_preview_says_so(steps: Steps) -> None:
    stays = "failed stays: it failed, and rerun is on_change; give it another run_token"
    assert stays in steps.preview.output
    assert operation(steps.preview.output, "failed") == ""

    # Once it is recorded as ended, a deleted record changes nothing.
    assert "failed" not in steps.before_last
    assert stays in steps.after_refresh.ok().output
    assert operation(steps.after_refresh.output, "failed") == ""
