"""The changed properties in `pulumi preview --diff` and `--json`, on the real engine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from support.client.engine import Engine
from support.client.services.drifting import call

pytestmark = pytest.mark.slow

PROGRAM = """
changed = config.get_bool("changed")


def of(old, new):
    return new if changed else old


def job(name, count=1, args=(), env=(), **given):
    def pool(count, **given):
        container = {
            "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            "command": ["true"],
            **given,
        }
        machine = {"machine_type": "n1-standard-4"}
        return {"machine_spec": machine, "replica_count": count, "container_spec": container}

    pools = [pool(1), pool(count, args=list(args), env=list(env))]
    return vt.CustomJob(name, worker_pool_specs=pools, staging_bucket=bucket, wait="done", **given)


bucket = vt.StagingBucket(
    "staging",
    name="a-bucket",
    force_destroy=True,
    labels=of({"team": "a"}, {"team": "b"}),
    lifecycle_rules=[{"action": {"type": "Delete"}, "condition": {"age": of(30, 7)}}],
)
job("train", of(1, 2), args=of(["--a=1"], ["--a=2", "--b"]), labels=of({"my-team": "c"}, {"my-team": "d"}))
job("masked", env=[{"name": "KEY", "value": pulumi.Output.secret(of("hush-one", "hush-two"))}])
source = job("new").job_id if changed else "none"
job("after", args=[pulumi.Output.concat("--of=", source)])
job("again", rerun=of("on_change", "always"))
job("options", keep_runs=of(5, 6))
"""
WORKER = "worker_pool_specs[1]"


@dataclass(frozen=True, kw_only=True)
class Previews:
    steps: dict[str, Any]
    """The steps of `preview --json` by the resource's name."""
    details: str
    drifted: str
    """`preview --refresh --diff` of a bucket that somebody changed."""


@pytest.fixture(scope="module")
def previews(shared_engine: Engine) -> Previews:
    engine = shared_engine
    engine.write(PROGRAM)
    engine.up().ok()
    engine.set("changed", "true")
    document = json.loads(engine.preview("--json").ok().output)
    details = engine.preview("--diff").ok().output
    engine.set("changed", None)
    rule = {"action": {"type": "Delete"}, "condition": {"age": 99}}
    call(engine, "PATCH", "/storage/v1/b/a-bucket", {"lifecycle": {"rule": [rule]}})
    return Previews(
        steps={step["urn"].rpartition("::")[2]: step for step in document["steps"]},
        details=details,
        drifted=engine.preview("--refresh", "--diff").ok().output,
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("staging", {"labels.team": "update", "lifecycle_rules[0].condition.age": "update"}),
        (
            "train",
            {
                'labels["my-team"]': "update",
                f"{WORKER}.replica_count": "update-replace",
                f"{WORKER}.container_spec.args[0]": "update-replace",
                f"{WORKER}.container_spec.args[1]": "add-replace",
            },
        ),
        ("masked", {f"{WORKER}.container_spec.env[0].value": "update-replace"}),
        ("after", {f"{WORKER}.container_spec.args[0]": "update-replace"}),
        ("again", {"rerun": "update", "state": "update-replace"}),
        ("options", {"keep_runs": "update"}),
    ],
)
def test_the_json_has_each_changed_property(name: str, expected: dict[str, str], previews: Previews) -> None:
    step = previews.steps[name]
    assert {path: change["kind"] for path, change in step["detailedDiff"].items()} == expected
    replacing = {
        path.partition("[")[0].partition(".")[0] for path, kind in expected.items() if "replace" in kind
    }
    assert set(step.get("replaceReasons") or ()) == replacing


def test_the_details_have_nothing_but_the_changes(previews: Previews) -> None:
    lines = {" ".join(line.split()) for line in previews.details.splitlines()}
    assert lines >= {
        "~ replica_count : 1 => 2",
        '~ [0]: "--a=1" => "--a=2"',
        '+ [1]: "--b"',
        "~ value: [secret] => [secret]",
        '- state: "JOB_STATE_SUCCEEDED"',
        "~ keep_runs: 5 => 6",
        "~ age: 30 => 7",
        '~ [0]: "--of=none" => [unknown]',
    }
    assert "hush" not in previews.details
    assert "__run" not in previews.details
    assert previews.details.count("machine_type") == 2, "the two pools of the new job"


def test_a_changed_resource_shows_what_a_deployment_changes_back(previews: Previews) -> None:
    _, _, planned = previews.drifted.rpartition("(refresh)")
    assert "~ age: 99 => 30" in planned
    assert "1 to update" in planned
