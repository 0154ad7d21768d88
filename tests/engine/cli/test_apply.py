"""`vertex-training apply` on the real engine: a saved plan is deployed as it is, or refused with a reason."""

from __future__ import annotations

import json
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.client.engine import Engine
from support.emulated import command
from support.emulated.command import Ended

PROGRAM = """
def pool(count, key):
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
        replica_count=count,
        container_spec=vt.ContainerSpecArgs(
            image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
            command=["python3", "-c", "import time; time.sleep(600)"],
            env=[vt.EnvVarArgs(name="KEY", value=key)],
        ),
    )


def job(name, workers, key="plain"):
    return vt.CustomJob(name, worker_pool_specs=[pool(1, key), pool(workers, key)], wait="none")


bucket = vt.StagingBucket("data", force_destroy=True)
vt.StagedFile("rows", source="rows.csv", bucket=bucket)
"""
FIRST = PROGRAM + "job('train', 2)\n"
LATER = 'vt.StagingBucket("late", force_destroy=True, labels={"job": LABEL})\njob("new", 1)\n'
"""A bucket with a value that only the deployment knows, and a new job, whose identity each preview makes."""
SECOND = PROGRAM + "train = job('train', 4)\n" + LATER.replace("LABEL", "train.job_id")
MORE_WORKERS = PROGRAM + "train = job('train', 8)\n" + LATER.replace("LABEL", "train.job_id")
OTHER_LABEL = (
    PROGRAM
    + "train = job('train', 4)\n"
    + LATER.replace("LABEL", "train.job_id.apply(lambda id: f'job-{id}')")
)
SECRET = SECOND + "job('keys', 1, pulumi.Output.secret('hunter-VALUE-hunter'))\n"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The outputs of the command, in the order of the fields, and what each deployment left."""

    planned: Ended
    checked: Ended
    more_workers: Ended
    other_label: Ended
    deployed: Ended
    ids: tuple[dict[str, str], dict[str, str]]
    """The ids of the resources before and after the deployment."""
    labels: dict[str, str]
    again: Ended
    secret: Ended
    other_secret: Ended
    states: tuple[dict[str, Any], dict[str, Any]]
    """The state before and after the deployment that was refused because of a secret."""
    saved: dict[str, Any]
    saved_secret: str
    mode: int


def run(engine: Engine, *arguments: str, folder: Path | None = None) -> Ended:
    return command.run(*arguments, env=engine.environment, folder=folder or engine.folder, timeout=300)


def ids(engine: Engine) -> dict[str, str]:
    return {one["urn"].partition("::")[2]: one["id"] for one in engine.state()}


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    (engine.folder / "infra" / "rows.csv").write_text("1,2,3\n")
    engine.write(FIRST)
    engine.up().ok()
    before = ids(engine)
    engine.write(SECOND)
    planned = run(engine, "plan", "--save-plan", "plan.json")
    checked = run(engine, "apply", "--plan", "plan.json")

    configuration = engine.folder / "Pulumi.test.yaml"
    text = configuration.read_text()
    engine.write(MORE_WORKERS)
    engine.set("team", "vision")
    more_workers = run(engine, "apply", "--plan", "plan.json", "--yes", "--json")
    configuration.write_text(text)
    engine.write(OTHER_LABEL)
    other_label = run(engine, "apply", "--plan", "plan.json", "--yes", "--json")

    engine.write(SECOND)
    checkout = engine.folder.with_name("checkout")
    checkout.mkdir()
    for name in ("Pulumi.yaml", "Pulumi.test.yaml", "plan.json"):
        shutil.copy(engine.folder / name, checkout / name)
    shutil.copytree(engine.folder / "infra", checkout / "infra")
    deployed = run(engine, "apply", "--plan", "plan.json", "--stack", "test", "--yes", folder=checkout)
    after = ids(engine)
    labels = next(one for one in engine.state() if one["urn"].endswith("::late"))["outputs"]["labels"]
    again = run(engine, "apply", "--plan", "plan.json", "--yes", "--json")

    engine.write(SECRET.replace("VALUE", "one"))
    secret = run(engine, "plan", "--markdown", "--save-plan", "secret.json")
    engine.write(SECRET.replace("VALUE", "two"))
    state = engine.checkpoint()
    other_secret = run(engine, "apply", "--plan", "secret.json", "--yes")
    return Steps(
        planned=planned,
        checked=checked,
        more_workers=more_workers,
        other_label=other_label,
        deployed=deployed,
        ids=(before, after),
        labels=labels,
        again=again,
        secret=secret,
        other_secret=other_secret,
        states=(state, engine.checkpoint()),
        saved=json.loads((engine.folder / "plan.json").read_text()),
        saved_secret=(engine.folder / "secret.json").read_text(),
        mode=stat.S_IMODE((engine.folder / "plan.json").stat().st_mode),
    )


def reasons(ended: Ended) -> list[tuple[str, str]]:
    assert ended.code == 2, ended
    assert ended.json["applies"] is ended.json["deployed"] is False
    assert [one["message"] for one in ended.json["errors"]] == [
        one["message"] for one in ended.json["reasons"]
    ]
    return [(one["what"], one["resource"]) for one in ended.json["reasons"]]


def test_a_plan_that_still_applies_is_only_deployed_on_request(steps: Steps) -> None:
    assert steps.planned.code == 0, steps.planned
    assert steps.checked.code == 0, steps.checked
    assert "still applies: 2 to create, 1 to replace, 2 unchanged." in steps.checked.out
    assert "To deploy it, add --yes." in steps.checked.out


def test_another_program_and_another_configuration_are_refused_with_both_values(steps: Steps) -> None:
    assert set(reasons(steps.more_workers)) == {("configuration", ""), ("plan", "train")}
    configuration, plan = steps.more_workers.json["reasons"]
    assert configuration["message"] == "engine-test:team: none -> vision"
    assert plan["message"].startswith("another value than in the plan: worker_pool_specs; now: ")
    assert "workers: 2 -> 8 x n1-standard-4" in plan["message"].partition("; now: ")[2]
    assert steps.more_workers.json["remedy"] == "vertex-training plan --save-plan plan.json"


def test_a_changed_program_is_refused_if_it_decides_values_that_the_plan_does_not_know(steps: Steps) -> None:
    assert reasons(steps.other_label) == [("program", "")]
    (reason,) = steps.other_label.json["reasons"]
    assert "infra/__main__.py changed" in reason["message"]
    assert "late: labels" in reason["message"]


def test_the_plan_is_deployed_from_another_checkout_as_it_is(steps: Steps) -> None:
    assert steps.deployed.code == 0, steps.deployed
    before, after = steps.ids
    assert {name.rpartition("::")[2] for name in set(after) - set(before)} == {"late", "new"}
    assert {name.rpartition("::")[2] for name in before if before[name] != after[name]} == {"train"}
    (train,) = (id_ for name, id_ in after.items() if name.endswith("CustomJob::train"))
    assert steps.labels["job"] == train.rpartition("/")[2]


def test_a_plan_is_deployed_once(steps: Steps) -> None:
    assert ("state", "train") in reasons(steps.again)
    assert ("state", "late") in reasons(steps.again)


def test_another_secret_is_refused_before_anything_changes_and_no_value_is_printed(steps: Steps) -> None:
    assert steps.secret.code == 0, steps.secret
    assert steps.other_secret.code == 2, steps.other_secret
    assert "a secret has another value than in the plan" in steps.other_secret.err
    before, after = steps.states
    assert before["resources"] == after["resources"]


def test_secrets_are_neither_printed_nor_in_the_file(steps: Steps) -> None:
    outputs = [steps.secret.out, steps.secret.err, steps.other_secret.out, steps.other_secret.err]
    for text in (*outputs, steps.saved_secret):
        assert "hunter" not in text
    assert "ciphertext" in steps.saved_secret


def test_the_file_is_the_engines_plan_and_only_its_owner_reads_it(steps: Steps) -> None:
    assert {"resourcePlans", "manifest", "config", "vertexTraining"} <= set(steps.saved)
    assert steps.mode == 0o600
