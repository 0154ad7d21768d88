"""The runs of a job: replaced jobs are kept, listed by `runs`, and deleted in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.runs.identity import REASON_LABEL, RUN_LABEL
from support.client.engine import Result
from support.client.in_process.project import Project
from support.client.in_process.small_engine import urn_of
from support.emulated import command
from support.waiting import eventually

PROGRAM = """
import json

SAVE = '''
import json, os, pathlib
model = pathlib.Path(os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/"))
model.mkdir(parents=True, exist_ok=True)
(model / "metrics.json").write_text(json.dumps({"loss": float(os.environ["LOSS"]), "epochs": 2}))
'''
bucket = vt.StagingBucket("staging", force_destroy=True)


def declare(name, script=SAVE, loss="0.5", **options):
    container = vt.ContainerSpecArgs(
        image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        command=["python3", "-c"],
        args=[script],
        env=[vt.EnvVarArgs(name="LOSS", value=loss)],
    )
    machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
    pool = vt.WorkerPoolSpecArgs(machine_spec=machine, container_spec=container)
    return vt.CustomJob(name, worker_pool_specs=[pool], staging_bucket=bucket, **options)


"""
LONG = "import time; time.sleep(600)"


def declare(name: str, **options: Any) -> str:
    arguments = "".join(f", {key}={value!r}" for key, value in options.items())
    return f"declare({name!r}{arguments})\n"


def jobs(engine: Project) -> dict[str, JobRecord]:
    """Return the service's jobs, by name of the resource and number of the run."""
    return {
        f"{one.labels['pulumi-resource']} {one.labels[RUN_LABEL].rpartition('-')[2]} {one.job_id}": one
        for one in custom_jobs.list_jobs(engine.endpoint())
    }


def of(found: dict[str, JobRecord], name: str) -> list[tuple[str, str, str]]:
    """Return number, state and reason of a resource's runs, oldest first."""
    records = sorted(
        (one for one in found.values() if one.labels["pulumi-resource"] == name),
        key=lambda one: one.create_time or "",
    )
    return [
        (one.labels[RUN_LABEL].rpartition("-")[2], one.state.word, one.labels.get(REASON_LABEL, ""))
        for one in records
    ]


@dataclass(kw_only=True)
class Steps:
    """The jobs after each deployment on one stack, and what the commands printed."""

    first: dict[str, JobRecord]
    changed: dict[str, JobRecord]
    on_demand: dict[str, JobRecord]
    unchanged: Result
    labelled: Result
    after_labels: dict[str, JobRecord]
    pruned: dict[str, JobRecord]
    listed: command.Ended
    on_terminal: list[command.Ended]
    as_json: command.Ended
    misspelt: command.Ended
    left: dict[str, JobRecord]


@pytest.fixture(scope="module")
def steps(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Steps:
    engine = project
    env = command.environment(tmp_path_factory.mktemp("home"), VERTEX_TRAINING_DATA_DIR=str(engine.data_dir))

    def up(*lines: str, arguments: tuple[str, ...] = ()) -> dict[str, JobRecord]:
        engine.write(PROGRAM + "".join(lines))
        engine.up(*arguments).ok()
        until_ended()
        return jobs(engine)

    def until_ended() -> None:
        def live() -> list[str]:
            found = [one for one in jobs(engine).values() if not one.state.is_terminal]
            return [one.name for one in found if one.labels["pulumi-resource"] != "long"]

        eventually(lambda: not live(), what=live)

    deleted = declare("deleted", wait="none", on_replace="delete")
    first = up(declare("train", wait="none"), declare("long", script=LONG), deleted)
    changed = up(
        declare("train", loss="0.25", wait="none"),
        declare("long", script=LONG + " # again"),
        declare("deleted", loss="0.1", wait="none", on_replace="delete"),
    )
    rest = declare("train", loss="0.25", wait="none", run_token="more data", keep_runs=2)
    up(rest)
    on_demand = up(rest, arguments=("--replace", urn_of("train")))
    unchanged = engine.up("--expect-no-changes")
    own: dict[str, Any] = {
        "wait": "none",
        "keep_runs": 2,
        "labels": {"team": "vision"},
        "display_name": "digits",
    }
    labelled_line = declare("train", loss="0.25", run_token="more data", **own)
    engine.write(PROGRAM + labelled_line)
    labelled = engine.up("--expect-no-changes")
    after_labels = jobs(engine)
    pruned = up(declare("train", loss="0.125", run_token="more data", **own))
    listed = command.run("runs", "train", env=env)
    as_json = command.run("runs", "digits", "--json", env=env)
    misspelt = command.run("runs", "trian", env=env)
    on_terminal = [command.run_on_terminal("runs", "train", env=env, columns=width) for width in (80, 100)]
    engine.destroy().ok()
    return Steps(
        first=first,
        changed=changed,
        on_demand=on_demand,
        unchanged=unchanged,
        labelled=labelled,
        after_labels=after_labels,
        pruned=pruned,
        listed=listed,
        on_terminal=on_terminal,
        as_json=as_json,
        misspelt=misspelt,
        left=jobs(engine),
    )


def test_a_replaced_job_is_kept_with_the_reason_of_each_run(steps: Steps) -> None:
    assert of(steps.first, "train") == [("1", "SUCCEEDED", "first-run")]
    assert of(steps.changed, "train") == [("1", "SUCCEEDED", "first-run"), ("2", "SUCCEEDED", "spec")]
    assert of(steps.changed, "long") == [("1", "CANCELLED", "first-run"), ("2", "RUNNING", "spec")]
    assert of(steps.changed, "deleted") == [("2", "SUCCEEDED", "spec")]


def test_more_runs_than_keep_runs_are_deleted_the_oldest_first(steps: Steps) -> None:
    assert of(steps.on_demand, "train") == [
        ("2", "SUCCEEDED", "spec"),
        ("3", "SUCCEEDED", "run-token"),
        ("4", "SUCCEEDED", "on-demand"),
    ]
    steps.unchanged.ok()
    assert of(steps.pruned, "train") == [
        ("3", "SUCCEEDED", "run-token"),
        ("4", "SUCCEEDED", "on-demand"),
        ("5", "SUCCEEDED", "spec"),
    ]


def test_destroy_deletes_the_kept_records(steps: Steps) -> None:
    assert of(steps.pruned, "long") == []
    assert steps.left == {}


def test_labels_and_name_alone_run_nothing_and_wait_for_the_next_run(steps: Steps) -> None:
    for stays in (
        "train: display name: train -> digits; label team: none -> vision; the job stays, because the",
        "can only change with its next run",
    ):
        assert stays in steps.labelled.ok().output
    assert steps.after_labels.keys() == steps.on_demand.keys()
    newest = max(steps.pruned.values(), key=lambda one: one.create_time or "")
    assert (newest.display_name, newest.labels["team"]) == ("digits", "vision")


def test_runs_are_listed_with_reason_metrics_model_and_logs(steps: Steps) -> None:
    document = steps.as_json.json
    assert document["resource"] == {
        "name": "train",
        "project": "engine-test",
        "stack": "test",
        "kind": "custom job",
        "isSchedule": False,
    }
    runs = document["runs"]
    assert [(one["run"], one["why"].partition(":")[0]) for one in runs] == [
        ("5", "its spec changed"),
        ("4", "a replacement was requested"),
        ("3", "its run_token changed"),
    ]
    assert [one["metrics"] for one in runs] == [{"loss": loss, "epochs": 2} for loss in (0.125, 0.25, 0.25)]
    assert [one["modelDirectory"].endswith("/model/") for one in runs] == [True] * 3
    newest = runs[0]
    assert newest["logs"] == f"vertex-training logs {newest['id']}"
    assert "LOSS" in newest["why"] and "0.125" not in newest["why"]
    assert steps.listed.err == ""
    for text in ("RUN  CREATED", "loss", "0.125", f"vertex-training logs {newest['id']}", "Run 4: a replace"):
        assert text in steps.listed.out


def test_the_list_fits_a_terminal(steps: Steps) -> None:
    for ended, width in zip(steps.on_terminal, (80, 100), strict=True):
        assert ended.code == 0
        long = [line for line in ended.plain.splitlines() if len(line) > width]
        assert all("gs://" in line for line in long), long
        assert "0.125" in ended.plain


def test_an_unknown_name_suggests_the_nearest(steps: Steps) -> None:
    assert steps.misspelt.code == 2
    assert "Did you mean 'train'?" in steps.misspelt.err
