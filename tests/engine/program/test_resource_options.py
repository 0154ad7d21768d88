"""Aliases, ignored changes, replacement on demand, secrets and mistakes: no run that nobody asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.runs import secret_arguments
from support.client.engine import Engine, Result

pytestmark = pytest.mark.slow

URN = "urn:pulumi:test::engine-test::pulumi-python:dynamic/customJob:CustomJob::"
HEAD = """
bucket = vt.StagingBucket("staging", name="options-bucket", force_destroy=True)


def pool(count=1, text="trained", **more):
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        replica_count=count,
        container_spec=vt.ContainerSpecArgs(
            image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            command=["python3", "-c", f"print({text!r})"],
            **more,
        ),
    )


def job(name, *pools, **opts):
    made = vt.CustomJob(
        name,
        worker_pool_specs=list(pools) or [pool()],
        staging_bucket=bucket,
        wait="done",
        opts=pulumi.ResourceOptions(**opts),
    )
    if name == "demanded":
        pulumi.export("run", made.completion["model_directory"])


def was(name):
    return pulumi.ResourceOptions(aliases=[pulumi.Alias(name=name)] if name else [])


def models(model, machines, old_model="", old_machines="", route="/first", machine="n1-standard-4"):
    serving = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
    container = {"image_uri": serving, "predict_route": route}
    made = vt.Model(model, container_spec=container, opts=was(old_model))
    pools = [{"machine_spec": {"machine_type": machine}, "replica_count": 1}]
    resource = vt.PersistentResource(machines, resource_pools=pools, opts=was(old_machines))
    pulumi.export("model", made.model_id)
    pulumi.export("machines", resource.persistent_resource_id)


"""
FIRST = """
job("by-name")
job("by-urn")
job("path")
job("all")
"""
RENAMED = f"""
job("name", aliases=[pulumi.Alias(name="by-name")])
job("urn", aliases=[pulumi.Output.from_input("{URN}by-urn")])
"""
WITHOUT_ALIASES = """
job("name")
job("urn")
"""
IGNORING = """
job("path", pool(text="more"), ignore_changes=["worker_pool_specs"])
job("all", pool(text="more"), ignore_changes=["*"])
"""
OTHERS = 'job("mistaken")\njob("protected", protect=True)\njob("demanded")\n'
OLD_IDS = 'models("digits", "GPUs")\n'
ALIASED_IDS = 'models("numbers", "pool", "digits", "GPUs")\n'
NEW_IDS = 'models("numbers", "pool")\n'
REPLACED_IDS = 'models("numbers", "pool", route="/second", machine="n1-standard-8")\n'
SECRET = """
word = pulumi.Output.secret("hunter" + (config.get("more") or ""))
job("secret", pool(env=[{"name": "KEY", "value": word}], args=["--token", word]))
"""


@dataclass(kw_only=True)
class Steps:
    """The output of deployments of one stack, its outputs, and the names of its jobs after them."""

    runs: list[set[str]]
    outputs: list[dict[str, Any]]
    planned: Result
    renamed: Result
    mistaken: Result
    protected: Result
    afterwards: Result
    replaced: Result
    directory: str
    with_secret: list[Result]
    with_another: Result
    secret_label: str
    state: list[dict[str, Any]]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    runs: list[set[str]] = []
    outputs: list[dict[str, Any]] = []

    def note() -> None:
        runs.append({one.name for one in custom_jobs.list_jobs(engine.endpoint())})
        outputs.append(engine.outputs())

    engine.write(HEAD + FIRST + OTHERS + OLD_IDS)
    engine.up().ok()
    note()

    engine.write(HEAD + RENAMED + IGNORING + OTHERS + OLD_IDS)
    planned = engine.preview("--expect-no-changes")
    engine.write(HEAD + RENAMED + IGNORING + OTHERS + ALIASED_IDS)
    renamed = engine.up()
    note()

    steady = HEAD + WITHOUT_ALIASES + IGNORING
    engine.write(steady + NEW_IDS + OTHERS.replace('"mistaken"', '"mistaken", pool(3)'))
    mistaken = engine.up()
    engine.write(steady + NEW_IDS + OTHERS.replace('"protected"', '"protected", pool(text="more")'))
    protected = engine.up()
    engine.write(steady + NEW_IDS + OTHERS)
    afterwards = engine.up("--expect-no-changes")
    note()

    last = steady + REPLACED_IDS + 'job("mistaken")\njob("protected")\njob("demanded")\n'
    engine.write(last)
    replaced = engine.up("--replace", f"{URN}demanded").ok()
    note()
    demanded = custom_jobs.get(
        engine.endpoint(), next(one["id"] for one in engine.state() if one["urn"] == f"{URN}demanded")
    )

    engine.write(last + SECRET)
    with_secret = [engine.preview("--diff").ok(), engine.up().ok()]
    note()
    labels = custom_jobs.list_by_label(engine.endpoint(), {"pulumi-resource": "secret"})[0].labels
    with_another = engine.preview("--diff", "--config", "more=2").ok()
    engine.run("refresh", "--yes", "--skip-preview", "--non-interactive").ok()
    return Steps(
        runs=runs,
        outputs=outputs,
        planned=planned,
        renamed=renamed,
        mistaken=mistaken,
        protected=protected,
        afterwards=afterwards,
        replaced=replaced,
        directory=demanded.wire["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"],
        with_secret=with_secret,
        with_another=with_another,
        secret_label=labels[secret_arguments.LABEL],
        state=engine.state(),
    )


def test_renaming_with_an_alias_and_ignored_changes_run_nothing(steps: Steps) -> None:
    """Use an alias by the name, and one by the URN; ignore one path, and all of them."""
    assert "unchanged" in steps.planned.ok().output
    assert not {"created", "deleted", "replaced"} & set(steps.renamed.ok().output.split())
    assert steps.runs[1] == steps.runs[0]


def test_without_the_alias_of_a_renamed_resource_nothing_changes(steps: Steps) -> None:
    steps.afterwards.ok()
    assert steps.runs[2] == steps.runs[0]


def test_a_renamed_resource_keeps_the_id_that_was_made_of_its_name(steps: Steps) -> None:
    assert [(each["model"], each["machines"]) for each in steps.outputs] == [
        ("engine-test-test-digits", "engine-test-test-gpus")
    ] * 5
    # These two, and the job.
    assert "3 replaced" in steps.replaced.output


def test_a_mistake_without_a_preview_does_not_cost_a_run(steps: Steps) -> None:
    assert "worker_pool_specs[0].replica_count" in steps.mistaken.failed().output
    steps.afterwards.ok()


def test_a_refused_change_of_a_protected_job_leaves_no_trace(steps: Steps) -> None:
    assert "marked for protection" in steps.protected.failed().output
    steps.afterwards.ok()


def test_replacement_on_demand_keeps_the_model_of_the_run_before(steps: Steps) -> None:
    before, after, later = (steps.outputs[step]["run"] for step in (2, 3, 4))
    assert after != before
    assert f"{steps.directory}model/" == after == later
    # One job has another run, and the one that it replaced is kept; the last step adds one.
    assert len(steps.runs[3] - steps.runs[2]) == 1
    assert steps.runs[2] < steps.runs[3]
    assert steps.runs[3] < steps.runs[4]
    assert not {"updated", "replaced"} & set(steps.with_secret[1].output.split())


def test_a_secret_is_nowhere_in_clear_nor_is_its_hash(steps: Steps) -> None:
    assert "environment variable KEY changed" in steps.with_another.output
    recorded = [one for one in steps.state if one["urn"].endswith("::secret")]
    assert len(recorded) == 1
    texts = [each.output for each in (*steps.with_secret, steps.with_another)]
    for text in (*texts, json.dumps(recorded)):
        assert "secret" in text
        assert "hunter" not in text
        assert "v1-" not in text
    assert steps.secret_label == "0-4", "the place of the argument after command and flag"
