"""The cost of a plan by the steps of its preview: each resource, the whole stack, and the limits."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.teams.plan import checks
from pulumi_vertex_training.cli.teams.plan.checks import PlanContext
from pulumi_vertex_training.cli.teams.plan.costs import PlanCost, check, cost_of_plan
from pulumi_vertex_training.cli.teams.plan.plan import read
from pulumi_vertex_training.cli.teams.plan.preview import Preview
from pulumi_vertex_training.costs.reports import HIDDEN, Reports
from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN
from support.ground.specs.prices import REGION, table

JOB = 1.1
"""An hour of one n1-standard-4 with its disk."""


def inputs(*counts: Any, **more: Any) -> dict[str, Any]:
    pools = [
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": count,
            "container_spec": {"image_uri": "repo/a:1"},
        }
        for count in counts
    ]
    day = {"timeout": "86400s"}
    return {"display_name": "a", "location": REGION, "worker_pool_specs": pools, "scheduling": day, **more}


def step(
    op: str,
    name: str,
    old: dict[str, Any] | None,
    new: dict[str, Any] | None,
    *,
    state: str = "JOB_STATE_RUNNING",
    resource: str = "CustomJob",
) -> dict[str, Any]:
    token = registry.type_token(resource)
    found: dict[str, Any] = {"op": op, "urn": f"urn:pulumi:dev::digits::{token}::{name}"}
    if old is not None:
        found["oldState"] = {"inputs": old, "outputs": {"state": state}, "id": "x"}
    if new is not None:
        found["newState"] = {"inputs": new}
    return found


def preview(*steps: dict[str, Any], **limits: str) -> Preview:
    configuration = {f"vertex-training:{name}": value for name, value in limits.items()}
    return Preview(plan=read({"steps": steps}), configuration=configuration, steps=steps)


def cost(*steps: dict[str, Any], **limits: str) -> PlanCost:
    return cost_of_plan(preview(*steps, **limits), table())


def hourly(found: PlanCost) -> tuple[float | None, float | None]:
    return found.before.hourly, found.after.hourly


def test_a_resource_has_its_cost_before_and_after():
    found = cost(step("replace", "train", inputs(1, 1), inputs(1, 3)))
    (train,) = found.changes
    assert train.before is not None
    assert train.after is not None
    assert (train.before.hourly, train.after.hourly) == (pytest.approx(2 * JOB), pytest.approx(4 * JOB))
    assert train.sentence == "$2.20 -> $4.40 an hour, at most $105.60 until its timeout of 1 d"


def test_new_and_removed_resources_count_on_one_side():
    new = cost(step("create", "new", None, inputs(1)))
    assert hourly(new) == (0, pytest.approx(JOB))
    gone = cost(step("delete", "gone", inputs(1), None))
    assert hourly(gone) == (pytest.approx(JOB), 0)
    assert gone.changes[0].sentence == "$1.10 an hour"


def test_a_deleted_job_that_has_ended_costs_nothing_now():
    recorded = step("delete", "gone", inputs(1), None, state="JOB_STATE_SUCCEEDED")
    live = step("delete", "gone", inputs(1), None)
    for found in (cost(recorded), cost_of_plan(preview(live), table(), ended={live["urn"]})):
        assert hourly(found) == (0, 0)
        assert found.changes[0].sentence == ""


def test_unchanged_jobs_count_while_they_are_live():
    live = step("same", "live", inputs(1), inputs(1))
    ended = step("same", "ended", inputs(1), inputs(1), state="JOB_STATE_SUCCEEDED")
    found = cost(live, ended, step("create", "new", None, inputs(2)))
    assert hourly(found) == (pytest.approx(JOB), pytest.approx(3 * JOB))
    assert found.started.per_timeout == pytest.approx(2 * JOB * 24)


def test_a_stack_in_which_nothing_runs_costs_nothing():
    ended = step("same", "ended", inputs(1), inputs(1), state="JOB_STATE_SUCCEEDED")
    assert cost(ended).summary == "The stack costs nothing, now and after the deployment"


def test_a_job_that_ended_and_runs_again_counts_after():
    found = cost(step("replace", "train", inputs(1), inputs(1), state="JOB_STATE_FAILED"))
    assert hourly(found) == (0, pytest.approx(JOB))
    assert found.changes[0].sentence.startswith("$1.10 an hour, at most")


def test_machines_of_a_persistent_resource_count_and_the_jobs_on_it_do_not():
    pools = [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2}]
    small = {"location": REGION, "resource_pools": pools}
    large = {"location": REGION, "resource_pools": [{**pools[0], "replica_count": 5}]}
    found = cost(
        step("update", "cluster", small, large, resource="PersistentResource"),
        step("create", "train", None, inputs(1, persistent_resource_id="cluster")),
    )
    assert hourly(found) == (pytest.approx(2 * JOB), pytest.approx(5 * JOB))


def schedule(request: Any, **more: Any) -> dict[str, Any]:
    """Return the inputs of a schedule in a state: its request as Cloud Scheduler sends it."""
    return {
        "collection": "customJobs",
        "parent": f"projects/p/locations/{REGION}",
        "request": request,
        **more,
    }


REQUEST = {
    "displayName": "a",
    "jobSpec": {
        "workerPoolSpecs": [
            {
                "machineSpec": {"machineType": "n1-standard-4"},
                "replicaCount": "1",
                "containerSpec": {"imageUri": "repo/a:1"},
            }
        ],
        "scheduling": {"timeout": "86400s"},
    },
}


@pytest.mark.parametrize("paused, after", [(None, JOB), (False, JOB), (True, 0)])
def test_a_schedule_counts_as_a_run_of_its_job(paused: bool | None, after: float):
    night = schedule(REQUEST, **({} if paused is None else {"paused": paused}))
    found = cost(step("create", "night", None, night, resource="TrainingSchedule"))
    assert hourly(found) == (0, pytest.approx(after))
    assert found.started.per_timeout == (pytest.approx(24 * JOB) if after else None)


@pytest.mark.parametrize(
    ("cron", "runs"),
    [
        ("0 3 * * *", 1),
        ("0 */6 * * *", 4),
        ("0,5 3 * * *", 2),
        ("* * * * *", 1440),
        ("never", 1),
    ],
)
def test_runs_of_a_schedule_that_may_overlap_count_together(cron: str, runs: int):
    night = schedule(REQUEST, schedule=cron)
    found = cost(step("create", "night", None, night, resource="TrainingSchedule"))
    assert hourly(found) == (0, pytest.approx(runs * JOB))
    assert found.started.per_timeout == pytest.approx(24 * JOB)
    change = found.changes[0].after
    assert change is not None and change.known_per_timeout == pytest.approx(24 * JOB)
    assert sum(item.hourly for item in change.items) == pytest.approx(runs * JOB)


def test_a_schedule_that_is_not_known_is_a_gap():
    night = schedule(REQUEST, schedule=ENGINES_UNKNOWN)
    found = cost(step("create", "night", None, night, resource="TrainingSchedule"))
    assert [(gap.path, gap.cause) for gap in found.after.unknown] == [("schedule", "value")]
    assert found.after.hourly is None


def test_a_schedule_that_is_paused_costs_nothing_any_more():
    old, new = schedule(REQUEST), schedule(REQUEST, paused=True)
    found = cost(step("update", "night", old, new, resource="TrainingSchedule"))
    assert hourly(found) == (pytest.approx(JOB), 0)
    assert found.changes[0].sentence == "$1.10 -> nothing an hour"


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (ENGINES_UNKNOWN, "what a preview does not know"),
        (HIDDEN, "a secret, which a plan does not show"),
    ],
)
def test_a_schedule_whose_request_is_not_known_is_a_gap(request_: str, why: str):
    found = cost(step("create", "night", None, schedule(request_), resource="TrainingSchedule"))
    assert found.after.hourly is None
    assert found.changes[0].sentence == f"not known, depending on {why}: request"


def test_values_that_are_not_known_yet_are_gaps():
    found = cost(step("create", "new", None, inputs(1, ENGINES_UNKNOWN)))
    assert found.after.hourly is None
    assert found.changes[0].sentence == (
        "at least $1.10 an hour, depending on what a preview does not know: replica_count"
    )


def test_secret_pools_leave_the_cost_open():
    new = step("create", "new", None, inputs(worker_pool_specs=HIDDEN))
    found = cost(new)
    assert found.after.hourly is None
    (gap,) = found.after.unknown
    assert (gap.path, gap.why) == ("worker_pool_specs", "a secret, which a plan does not show")
    assert found.secret == ()
    assert found.changes[0].sentence == (
        "not known, depending on a secret, which a plan does not show: worker_pool_specs"
    )


def test_limits_are_left_to_the_deployment_for_secret_pools_only():
    new = step("create", "new", None, inputs(worker_pool_specs=HIDDEN))
    dear = step("create", "dear", None, inputs(9))
    found = cost(new, dear, maxHourlyCost="0.1")
    (refused,) = found.excesses
    assert [line.split()[0] for line in refused.figures] == ["dear"]
    assert found.secret == ("new",)


def test_a_plan_says_that_limits_are_left_to_the_deployment():
    new = step("create", "new", None, inputs(worker_pool_specs=HIDDEN))
    result = check(PlanContext(previewed=preview(new, maxHourlyCost="100"), folder=Path()))
    (finding,) = result.findings
    assert (finding.severity, finding.resource) == ("unknown", "new")
    assert "applied in the deployment" in finding.message
    assert not result.failed


def test_a_plan_says_that_a_secret_limit_is_left_to_the_deployment():
    new = step("create", "new", None, inputs(9))
    result = check(
        PlanContext(previewed=preview(new, maxHourlyCost=HIDDEN, maxRunCost="1000"), folder=Path())
    )
    (finding,) = result.findings
    assert (finding.severity, finding.resource) == ("unknown", "")
    assert finding.message.startswith("vertex-training:maxHourlyCost is a secret")
    assert "`pulumi config set vertex-training:maxHourlyCost VALUE`" in finding.remedy
    assert result.document["limits"] == {"maxHourlyCost": None, "maxRunCost": 1000.0}
    assert not result.failed


def test_a_secret_leaves_unknown_prices_to_the_deployment():
    pool = {"machine_spec": {"machine_type": "n9-mega-4"}, "replica_count": 1}
    new = step("create", "new", None, {**inputs(1), "worker_pool_specs": [pool]})

    def findings(**more: str) -> list[tuple[str, str]]:
        found = check(PlanContext(previewed=preview(new, maxHourlyCost="1000", **more), folder=Path()))
        return [(one.severity, one.resource) for one in found.findings]

    assert findings() == [("error", "new")]
    assert findings(allowUnknownPrices=HIDDEN) == [("unknown", "")]


def test_an_autoscaled_resource_has_its_maximum_in_words():
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "autoscaling_spec": {"min_replica_count": 1, "max_replica_count": 3},
    }
    machines = {"location": REGION, "resource_pools": [pool]}
    found = cost(step("create", "cluster", None, machines, resource="PersistentResource"))
    assert found.changes[0].sentence == "$1.10 an hour, up to $3.30 with autoscaled pools at their maximum"
    assert (
        found.summary
        == "If all ran: nothing now, $1.10 an hour after the deployment, up to $3.30 with autoscaled pools "
        "at their maximum"
    )


def test_other_resources_have_no_cost():
    bucket = step("create", "data", None, {"location": REGION}, resource="StagingBucket")
    key = step("create", "vertex-training", None, {}, resource="StackKey")
    assert cost(bucket, key).changes == ()


def test_a_stack_without_cost_has_no_check():
    assert check(PlanContext(previewed=preview(), folder=Path())) is None


def test_limits_of_the_stack_are_applied_to_the_whole_plan():
    steps = (
        step("same", "live", inputs(1), inputs(1)),
        step("create", "new", None, inputs(2)),
        step("same", "ended", inputs(9), inputs(9), state="JOB_STATE_SUCCEEDED"),
    )
    assert cost(*steps, maxHourlyCost="3.31").excesses == ()
    (hour,) = cost(*steps, maxHourlyCost="3").excesses
    assert hour.figures == ("new   $2.20", "live  $1.10")
    (run,) = cost(*steps, maxRunCost="50").excesses
    assert run.resource == "new"


def test_the_check_has_words_for_each_changed_resource_and_a_table():
    steps = (step("same", "live", inputs(1), inputs(1)), step("create", "new", None, inputs(2)))
    result = check(PlanContext(previewed=preview(*steps, maxRunCost="0.01"), folder=Path()))
    assert result is not None
    assert list(result.by_resource) == [steps[1]["urn"]]
    assert [row[0] for row in result.rows] == ["whole stack", "new", "1 unchanged"]
    assert result.failed
    assert checks.exit_code([result]) == 4
    assert [one["name"] for one in result.document["resources"]] == ["new", "live"]


def test_what_the_program_reports_of_hidden_inputs_has_a_cost():
    hidden = inputs(worker_pool_specs=HIDDEN)
    steps = (
        step("replace", "train", hidden, hidden),
        step("same", "kept", hidden, hidden),
        step("create", "size", None, hidden),
        step("create", "night", None, schedule(HIDDEN), resource="TrainingSchedule"),
        step("delete", "gone", hidden, None),
    )
    replace, same, size, night, _ = (one["urn"] for one in steps)
    pools = inputs(2)["worker_pool_specs"]
    masked = [{**pools[0], "machine_spec": {"machine_type": HIDDEN}}]
    reported = {
        (replace, "oldState"): inputs(1),
        (replace, "newState"): inputs(2),
        (same, "newState"): inputs(3),
        (size, "newState"): inputs(worker_pool_specs=masked),
        (size, "oldState"): inputs(9),
        (night, "newState"): {"request": {"declaration": inputs(4)}},
    }
    found = cost_of_plan(replace_reports(preview(*steps), reported), table())
    costs = {
        one.name: (one.before and one.before.hourly, one.after and one.after.hourly) for one in found.changes
    }
    assert costs == {
        "train": (pytest.approx(JOB), pytest.approx(2 * JOB)),
        "kept": (pytest.approx(3 * JOB), pytest.approx(3 * JOB)),
        "size": (None, None),
        "night": (None, pytest.approx(4 * JOB)),
        "gone": (None, None),
    }
    change = found.of(size)
    assert change is not None and change.after is not None
    (gap,) = change.after.unknown
    assert (gap.path, gap.why) == (
        "worker_pool_specs[0].machine_spec.machine_type",
        "a secret, which a plan does not show",
    )


def replace_reports(previewed: Preview, reported: dict[tuple[str, str], dict[str, Any]]) -> Preview:
    return dataclasses.replace(previewed, reports=Reports(inputs=reported))
