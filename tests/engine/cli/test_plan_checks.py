"""`vertex-training plan` with cost, preflight and policies together, on the real engine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest

from support.client.builds.built_images import write_files
from support.client.engine import Engine
from support.client.shared_engine import shared_engine as shared_engine
from support.emulated import command
from support.emulated.command import Ended

pytestmark = pytest.mark.slow

PROGRAM = """
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
secret = vt.EnvVarArgs(name="API_KEY", value=pulumi.Output.secret("hunter2"))
vt.DistributedTraining(
    "train",
    chief=vt.WorkerPoolSpecArgs(
        machine_spec=machine, python_package_spec=vt.PythonPackageSpecArgs(env=[secret])
    ),
    workers=vt.WorkerPoolSpecArgs(machine_spec=machine, replica_count=2),
    bucket={"force_destroy": True},
    package={"source": "task.py"},
    executor_image_uri="us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
)
"""
COST, PREFLIGHT, POLICY = 4, 8, 16
LIMIT = "vertex-training:maxRunCost"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The outputs of the command, with fewer and fewer failed checks; `saved` says which wrote a plan."""

    all_failed: Ended
    text: Ended
    markdown: Ended
    without_cost: Ended
    without_quota: Ended
    passed: Ended
    saved: list[bool]


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    file, settings = engine.folder / "plan.json", engine.folder / "policies.json"

    def run(*arguments: str) -> Ended:
        return command.run(*arguments, env=engine.environment, folder=engine.folder, timeout=300)

    def plan(*arguments: str) -> Ended:
        made = run("plan", "--save-plan", file.name, *arguments)
        saved.append(file.exists())
        return made

    def allow(replicas: int) -> None:
        level = {"enforcementLevel": "mandatory", "most": replicas}
        labels = {"enforcementLevel": "advisory", "required": ["team"]}
        settings.write_text(json.dumps({"all": "disabled", "replicas": level, "labels": labels}))

    saved: list[bool] = []
    write_files(engine.folder / "infra", {"task.py": "pass\n"})
    engine.write(PROGRAM)
    engine.set(LIMIT, "1")
    engine.set("vertex-training:policyConfig", settings.name)
    allow(2)
    run("emulator", "quota", "set", "cpus", "8")
    all_failed, text, markdown = plan("--json"), plan(), plan("--markdown")
    engine.set(LIMIT, "1000")
    without_cost = plan("--json")
    run("emulator", "quota", "set", "cpus", "12")
    without_quota = plan("--json")
    allow(3)
    return Steps(
        all_failed=all_failed,
        text=text,
        markdown=markdown,
        without_cost=without_cost,
        without_quota=without_quota,
        passed=plan(),
        saved=saved,
    )


def test_the_exit_code_is_the_sum_of_the_failed_checks(steps: Steps) -> None:
    assert steps.all_failed.code == COST + PREFLIGHT + POLICY
    assert steps.without_cost.code == PREFLIGHT + POLICY
    assert steps.without_quota.code == POLICY
    assert steps.passed.code == 0


def test_the_json_has_the_changes_and_each_check(steps: Steps) -> None:
    document = steps.all_failed.json
    assert document["failed"] == ["cost", "preflight", "policy"]
    assert {change["name"] for change in document["changes"]} == {"train"}
    assert document["cost"]["after"]["hourly"] > 0.5
    (quota,) = document["preflight"]["findings"]
    assert quota["message"].endswith("12 asked for, but the quota is 8.")
    assert (
        quota["remedy"] == "To fix it, run `vertex-training emulator quota set cpus 12 --region us-central1`."
    )
    errors = [one["message"] for one in document["policy"]["findings"] if one["severity"] == "error"]
    assert len(errors) == 1
    assert "replica" in errors[0]


def test_a_secret_variable_hides_itself_alone(steps: Steps) -> None:
    assert "chief 1 x n1-standard-4, workers 2 x n1-standard-4" in steps.text.out
    for output in (steps.all_failed, steps.text, steps.markdown):
        assert "hunter2" not in output.out + output.err
        assert "not known" not in output.out


def test_the_text_has_each_check_and_ends_with_the_exit_code(steps: Steps) -> None:
    for section in ("Cost failed", "Preflight failed", "Policy failed"):
        assert f"\n{section}\n" in steps.text.out
    assert steps.text.out.endswith("\nFailed: cost, preflight and policy (exit code 28).\n")


def test_the_comment_has_each_check_with_its_command(steps: Steps) -> None:
    assert "\n**Cost failed**: If all ran: nothing now, &#36;" in steps.markdown.out
    assert "\n**Preflight failed**: 1 error, " in steps.markdown.out
    assert "\n**Policy failed**: 1 mandatory and 2 advisory violations" in steps.markdown.out
    limit = re.compile(rf"run `pulumi config set {LIMIT} [\d.]+ --stack test`\.")
    for output in (steps.markdown, steps.text):
        assert limit.search(output.out)
    assert any(limit.search(one["remedy"]) for one in steps.all_failed.json["cost"]["findings"])
    assert "run `vertex-training emulator quota set cpus 12 --region us-central1`." in steps.markdown.out


def test_a_plan_with_a_failed_check_is_not_saved(steps: Steps) -> None:
    assert steps.saved == [False, False, False, False, False, True]
    assert "plan.json is not written." in steps.text.err
    assert "plan.json is written." in steps.passed.err


def test_the_findings_of_resources_with_one_name_have_their_types(steps: Steps) -> None:
    findings = steps.all_failed.json["policy"]["findings"]
    said = {(one["type"], one["resource"]) for one in findings if one["severity"] == "warning"}
    assert said == {("StagingBucket", "train"), ("CustomJob", "train")}
    assert "warning: StagingBucket train: labels.team: is missing" in steps.text.out
