"""The internals of a run are in Pulumi's state, and in nothing that Pulumi shows, on the real engine."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import pytest

from support.client.engine import Engine

pytestmark = pytest.mark.slow

PROGRAM = """
def pool(count, **env):
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": count,
        "container_spec": {
            "image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            "command": ["true"],
            "env": [{"name": name, "value": value} for name, value in env.items()],
        },
    }


def job(name, workers, rerun="on_change", **given):
    return vt.CustomJob(name, worker_pool_specs=[pool(1), workers], wait="done", rerun=rerun, **given)


bucket = vt.StagingBucket("staging", name="a-bucket", force_destroy=True)
workers, rerun = config.get_int("workers") or 2, config.get("rerun") or "on_change"
train = job("train", pool(workers), rerun, staging_bucket=bucket)
own = job("own", pool(1), run_token=config.get("token") or None, base_output_directory="gs://a-bucket/own/")
masked = job("masked", pool(1, KEY=pulumi.Output.secret("hush-hush-hush")), staging_bucket=bucket)
pulumi.export("directory", train.base_output_directory)
pulumi.export("secret directory", masked.base_output_directory)
"""
INTERNALS = ("run", "identity", "spec_hash", "output_path", "output_directory", "key", "reruns", "why")


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The printed output, and the states after the first and the last deployment."""

    resources: dict[str, Any]
    outputs: dict[str, Any]
    details: str
    edited: str
    """A preview of another run token of `own`, and of another policy of `train`."""
    refreshed: str
    imported: str
    planned: str
    after: dict[str, Any]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.write(PROGRAM)
    engine.up().ok()
    resources, outputs = by_name(engine), engine.outputs()
    plan = str(engine.folder / "plan.json")
    refreshed = engine.run("refresh", "--preview-only", "--expect-no-changes", "--non-interactive").ok()
    exported = engine.run("stack", "export").ok().output
    (engine.folder / "exported.json").write_text(exported)
    engine.run("stack", "import", "--file", str(engine.folder / "exported.json")).ok()
    imported = engine.preview("--expect-no-changes").ok().output
    engine.set("rerun", "on_failure")
    engine.set("token", "again")
    edited = engine.preview().ok().output
    engine.set("rerun", "on_change")
    engine.set("token", "")
    engine.set("workers", "3")
    details = engine.preview("--diff", "--save-plan", plan).ok().output
    # The shared Python is no child of the command, whose arguments have the plan.
    cold = replace(engine, environment={**engine.environment, "PULUMI_PYTHON_CMD": sys.executable})
    planned = cold.up("--plan", plan).ok().output
    return Steps(
        resources=resources,
        outputs=outputs,
        details=details,
        edited=edited,
        refreshed=refreshed.output,
        imported=imported,
        planned=planned,
        after=by_name(engine),
    )


def by_name(engine: Engine) -> dict[str, Any]:
    """Return the recorded resources by type and name: `CustomJob train`."""
    return {
        f"{one['type'].rpartition(':')[2]} {one['urn'].rpartition('::')[2]}": one
        for one in engine.checkpoint()["resources"]
    }


def changed(output: str, resource: str) -> set[str]:
    """Return the text in brackets on the rows of a resource."""
    rows = [line for line in output.splitlines() if f":{resource} " in line]
    return {row.partition("[diff: ")[2].partition("]")[0] for row in rows}


def test_the_state_has_the_internals_under_one_hidden_property(steps: Steps) -> None:
    job = steps.resources["CustomJob train"]
    assert not set(INTERNALS) & ({*job["inputs"], *job["outputs"]})
    declared = job["inputs"]["__run"]
    assert set(declared) == {"identity", "spec_hash"}
    key = f"{declared['identity']}-1"
    assert job["outputs"]["__run"] == {
        **declared,
        "key": key,
        "output_path": "base_output_directory",
        "output_directory": f"gs://a-bucket/train/{key}/",
        "checkpoints": f"gs://a-bucket/train/checkpoints/{key}/",
        "reruns": 0,
        "why": "first-run",
    }


def test_a_directory_is_an_input_only_if_the_user_gives_it(steps: Steps) -> None:
    assert "base_output_directory" not in steps.resources["CustomJob train"]["inputs"]
    own = steps.resources["CustomJob own"]
    assert own["inputs"]["base_output_directory"] == "gs://a-bucket/own/"
    assert set(own["outputs"]["__run"]) == {"identity", "spec_hash", "key", "reruns", "why"}


def test_programs_read_the_directory_of_the_run(steps: Steps) -> None:
    for name, output in (("train", "directory"), ("masked", "secret directory")):
        recorded = steps.resources[f"CustomJob {name}"]["outputs"]
        key = recorded["__run"]["key"]
        assert recorded["base_output_directory"] == steps.outputs[output]
        assert steps.outputs[output] == f"gs://a-bucket/{name}/{key}/"


def test_the_hash_of_a_secret_declaration_is_encrypted(steps: Steps) -> None:
    job = steps.resources["CustomJob masked"]
    for part in ("inputs", "outputs"):
        assert "ciphertext" in job[part]["__run"]["spec_hash"]
    assert job["outputs"]["__run"]["key"] == f"{job['inputs']['__run']['identity']}-1"


def test_the_change_and_the_reason_to_run_again_are_shown(steps: Steps) -> None:
    assert changed(steps.planned, "CustomJob train") >= {"~worker_pool_specs"}
    assert "train will run again: its spec changed" in steps.details
    assert "replica_count: 2 => 3" in steps.details
    for word in ("__run", "spec_hash", "output_directory"):
        assert word not in steps.details


def test_another_run_token_shows_as_itself(steps: Steps) -> None:
    assert changed(steps.edited, "CustomJob own") >= {"+run_token"}
    assert "own will run again: its run_token changed" in steps.edited


def test_an_edit_of_the_record_leaves_the_directory_known(steps: Steps) -> None:
    assert changed(steps.edited, "CustomJob train") == {"~rerun"}
    assert "directory" not in steps.edited


def test_refresh_export_and_import_keep_the_internals(steps: Steps) -> None:
    for output in (steps.refreshed, steps.imported):
        assert "6 unchanged" in output


def test_a_plan_is_kept(steps: Steps) -> None:
    assert "1 replaced" in steps.planned
    before, after = (found["CustomJob train"] for found in (steps.resources, steps.after))
    assert after["inputs"]["__run"]["identity"] == before["inputs"]["__run"]["identity"]
    run = after["outputs"]["__run"]
    assert (run["key"], run["why"]) == (f"{after['inputs']['__run']['identity']}-2", "spec")
