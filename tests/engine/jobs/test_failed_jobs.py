"""Dependents of a failed job do not start, in any deployment until the job has succeeded; on the real engine.

A stack is deployed with a job that fails, again, refreshed, repaired, broken again, and destroyed.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass

import pytest

from support.client.engine import Engine, Result
from support.client.shared_engine import diagnostics

pytestmark = pytest.mark.slow

PROGRAM = """
image = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"

def job(name, code, after=None, wait="done"):
    opts = after and pulumi.ResourceOptions(depends_on=after.completion.apply(lambda _: [after]))
    return vt.CustomJob(name, **vt.task_from_image(image, command=["sh", "-c", code]), wait=wait, opts=opts)

first = job("first", {code!r})
job("after-first", "true", first)
started = job("started", {code!r}, wait="running")
job("left-alone", {code!r}, wait="running")
healthy = job("healthy", "sleep 1")
job("after-healthy", "true", healthy)
"""
LATER = 'job("after-started", "true", started)\n'
"""Not declared at first: a deployment that waits until a job runs may see it run before it fails."""
FAILS, SUCCEEDS, FAILS_AGAIN = "exit 3", "true", "exit 4"
JOBS = {"first", "after-first", "started", "after-started", "left-alone", "healthy", "after-healthy"}
DEPENDENTS = {"after-first", "after-started"}


@dataclass(kw_only=True)
class Step:
    """The result of a command, and the recorded jobs after it: the id of each by its name."""

    result: Result
    jobs: dict[str, str]


def recorded(engine: Engine) -> dict[str, str]:
    return {one["urn"].rpartition("::")[2]: one["id"] for one in engine.state() if "job_id" in one["outputs"]}


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> dict[str, Step]:
    engine = shared_engine
    found: dict[str, Step] = {}

    def note(name: str, result: Result) -> None:
        found[name] = Step(result=result, jobs=recorded(engine))

    engine.write(PROGRAM.format(code=FAILS))
    note("failed", engine.up())
    engine.write(PROGRAM.format(code=FAILS) + LATER)
    previewed, again = engine.preview_and_up()
    note("previewed", previewed)
    note("again", again)
    note("refreshed", engine.run("refresh", "--yes", "--skip-preview", "--non-interactive"))
    note("after the refresh", engine.up())
    engine.write(PROGRAM.format(code=SUCCEEDS) + LATER)
    note("repaired", engine.up())
    engine.write(PROGRAM.format(code=FAILS_AGAIN) + LATER)
    note("broken", engine.up())
    note("broken still", engine.up())
    # The shared Python is no child of the command, which tells it that nothing is to be waited for.
    cold = dataclasses.replace(
        engine, environment={**engine.environment, "PULUMI_PYTHON_CMD": sys.executable}
    )
    note("destroyed", cold.run("destroy", "--yes", "--run-program", "--skip-preview", "--non-interactive"))
    return found


def test_healthy_jobs_and_their_dependents_are_deployed_although_a_job_failed(
    steps: dict[str, Step],
) -> None:
    failed = steps["failed"]
    failed.result.failed()
    assert set(failed.jobs) == JOBS - DEPENDENTS


@pytest.mark.parametrize("step", ["again", "after the refresh"])
def test_dependents_do_not_start_in_a_later_deployment_which_fails_as_well(
    steps: dict[str, Step], step: str
) -> None:
    said = diagnostics(steps[step].result.failed().output)
    assert steps[step].jobs == steps["failed"].jobs, "nothing started, nothing ran again"
    assert said.count("error: first: custom job") == 1
    assert said.count("each deployment fails until it has succeeded") == 2
    assert said.count("pulumi up --replace urn:pulumi:test::engine-test::") == 3
    assert "warning: left-alone: custom job" in said, "nothing needs its result"
    assert "error: left-alone" not in said


def test_a_preview_says_that_the_deployment_will_fail(steps: dict[str, Step]) -> None:
    said = steps["previewed"].result.ok().output
    assert said.count('`pulumi up` fails until it has succeeded; with wait="none" it does not.') >= 1
    assert "warning: first: custom job" in said


def test_a_refresh_of_a_failed_job_is_none(steps: dict[str, Step]) -> None:
    steps["refreshed"].result.ok()
    assert steps["refreshed"].jobs == steps["failed"].jobs


def test_dependents_start_when_the_job_has_succeeded(steps: dict[str, Step]) -> None:
    steps["repaired"].result.ok()
    assert set(steps["repaired"].jobs) == JOBS


def test_dependents_of_an_earlier_run_stay_as_they_are_while_a_later_run_has_failed(
    steps: dict[str, Step],
) -> None:
    for step in ("broken", "broken still"):
        steps[step].result.failed()
        kept = {name: id_ for name, id_ in steps[step].jobs.items() if name in DEPENDENTS}
        assert kept == {name: steps["repaired"].jobs[name] for name in DEPENDENTS}


def test_a_failed_job_is_no_reason_not_to_destroy(steps: dict[str, Step]) -> None:
    said = steps["destroyed"].result.ok().output
    assert steps["destroyed"].jobs == {}, json.dumps(steps["destroyed"].jobs)
    assert "error:" not in said
