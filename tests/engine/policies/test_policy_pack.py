"""The policy pack on the real engine: previews and deployments, advisory and mandatory."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.teams.plan.checks import CheckResult, PlanContext
from pulumi_vertex_training.cli.teams.plan.preview import preview
from pulumi_vertex_training.cli.teams.policy import of_plan
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.pulumi_command import ENGINES_PACK, ENGINES_SETTINGS
from pulumi_vertex_training.timeouts import ORDINARY
from scripts.layout import layout
from scripts.tools import policy_pack
from support.client.engine import Engine, Result
from vertex_training.policy.policies import POLICIES

SETTINGS: dict[str, Any] = {
    "all": "mandatory",
    "machine-types": {"allowed": ["n1-standard-4"]},
    "accelerators": {"allowed": ["NVIDIA_L4"]},
    "regions": {"allowed": ["europe-*"]},
    "replicas": {"most": 2},
    "hourly-cost": {"most": 0.5},
    "labels": {"required": ["team"], "values": {"team": ["vision"]}},
    "protect-running": {"stacks": ["test"]},
}
DEAR = {
    "sku": "n1 core", "region": "europe-west4", "use": "spot", "usdPerHour": 100, "source": "test",
    "date": "2026-11-24",
}  # fmt: skip
TOOLS = """
PREBUILT = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
KEY = "projects/local/locations/europe-west4/keyRings/training/cryptoKeys/jobs"


def pool(machine_type="n1-standard-4", count=1, image=PREBUILT, env=(), **machine):
    return vt.WorkerPoolSpecArgs(
        machine_spec=vt.MachineSpecArgs(machine_type=machine_type, **machine),
        replica_count=count,
        container_spec=vt.ContainerSpecArgs(image_uri=image, command=["true"], env=list(env)),
    )


password = vt.EnvVarArgs(name="PASSWORD", value=pulumi.Output.secret("my-" + "password"))
GOOD = {
    "location": "europe-west4",
    "labels": {"team": "vision"},
    "service_account": "trainer@local.iam.gserviceaccount.com",
    "encryption_spec": {"kms_key_name": KEY},
    "scheduling": {"timeout": "3600s", "strategy": "SPOT"},
    "protect_running": True,
}
BUCKET = {name: GOOD[name] for name in ("location", "labels")} | {"encryption": {"default_kms_key_name": KEY}}
data = vt.StagingBucket("data", force_destroy=True, **BUCKET)
"""
PASSING = """
vt.CustomJob("train", worker_pool_specs=[pool(env=[password])], staging_bucket=data, **GOOD)
"""
VIOLATING = """
vt.CustomJob(
    "bad",
    location="us-central1",
    worker_pool_specs=[
        pool(image="docker.io/nobody/train:v1"),
        pool("n1-standard-8", 2, accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1),
    ],
)


class Team(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("acme:training:Team", name)
        parent = pulumi.ResourceOptions(parent=self)
        vt.CustomJob(
            "child",
            worker_pool_specs=[pool(env=[password]), pool("n1-standard-8")],
            staging_bucket=data,
            **{**GOOD, "labels": {"team": pulumi.Output.secret("my-" + "password")}},
            opts=parent,
        )


Team("team")
"""
PRICED = """
vt.CustomJob("priced", worker_pool_specs=[pool()], staging_bucket=data, **GOOD)
"""
LATER = f"""{PASSING}
more = vt.StagingBucket("more", force_destroy=True, **BUCKET)
label = more.id.apply(lambda _: "nobody")
vt.StagingBucket("last", force_destroy=True, **{{**BUCKET, "labels": {{"team": label}}}})
"""
NOBODYS = f"""{PASSING}
vt.StagingBucket("first", force_destroy=True, **BUCKET)
vt.StagingBucket("nobodys", force_destroy=True, **{{**BUCKET, "labels": {{"team": "nobody"}}}})
"""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The outputs of one stack, step by step, and what there is after some of them."""

    advisory: Result
    refused: Result
    jobs_after_refusal: list[str]
    planned: CheckResult | None
    passing_up: Result
    jobs_after_up: list[str]
    dearer: Result
    planned_dearer: CheckResult | None
    later: Result
    """A preview with a damaged file of prices."""
    later_up: Result
    buckets_after_later_up: list[str]
    not_applied: Result
    applied: Result
    buckets_after_apply: list[str]


@pytest.fixture(scope="module")
def pack() -> Path:
    """Return the folder of the pack, which the engine's language host here can only start by a script."""
    here = layout()
    if not policy_pack.is_installed(here):
        message = "the environment of the policy pack is missing: run `make policies`"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return policy_pack.scripts(here)


def names(engine: Engine, kind: str) -> list[str]:
    """Return the names of the resources of a kind in the state."""
    return sorted(
        one["urn"].rpartition("::")[2] for one in engine.state() if one["type"].endswith(f":{kind}")
    )


def planned_by(engine: Engine) -> CheckResult | None:
    """Return what `vertex-training plan` finds about policies."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in engine.environment.items():
            patch.setenv(name, value)
        previewed = preview(engine.folder, None, timeouts=ORDINARY)
        return of_plan.check(PlanContext(previewed=previewed, folder=engine.folder))


@pytest.fixture(scope="module")
def steps(pack: Path, shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.environment["PATH"] = f"{pack}{os.pathsep}{engine.environment['PATH']}"
    settings = engine.folder / "settings.json"
    settings.write_text(json.dumps(SETTINGS))
    misspelt = engine.folder / "misspelt.json"
    misspelt.write_text(json.dumps({"machine-types": {"alowed": ["g2-*"]}}))
    alone = ("--policy-pack", str(pack))
    enforced = (*alone, "--policy-pack-config", str(settings))

    engine.write(TOOLS + VIOLATING)
    advisory = engine.preview(*alone, "--policy-pack-config", str(misspelt))
    refused = engine.run("up", "--yes", "--non-interactive", *enforced)
    after_refusal = [job.display_name for job in custom_jobs.list_jobs(engine.endpoint())]
    engine.set("vertex-training:policyConfig", "settings.json")
    planned = planned_by(engine)
    engine.write(TOOLS + PASSING)
    passing_up = engine.up(*enforced)
    after_up = names(engine, "CustomJob")
    prices = engine.folder / "cache" / "vertex-training" / "prices.json"
    prices.parent.mkdir(parents=True)
    prices.write_text(json.dumps({"version": 1, "rows": [DEAR]}))
    own = dict(engine.environment)
    engine.environment["XDG_CACHE_HOME"] = str(prices.parent.parent)
    engine.write(TOOLS + PASSING + PRICED)
    dearer, planned_dearer = engine.preview(*enforced), planned_by(engine)
    prices.write_text("no JSON")
    engine.write(TOOLS + LATER)
    later, later_up = engine.preview_and_up(*enforced)
    engine.environment.clear()
    engine.environment.update(own)
    buckets = names(engine, "StagingBucket")
    not_applied, refused_apply = applied(engine, pack, settings)
    return Steps(
        advisory=advisory,
        refused=refused,
        jobs_after_refusal=after_refusal,
        planned=planned,
        passing_up=passing_up,
        jobs_after_up=after_up,
        dearer=dearer,
        planned_dearer=planned_dearer,
        later=later,
        later_up=later_up,
        buckets_after_later_up=buckets,
        not_applied=not_applied,
        applied=refused_apply,
        buckets_after_apply=names(engine, "StagingBucket"),
    )


def applied(engine: Engine, pack: Path, settings: Path) -> tuple[Result, Result]:
    """Save a plan, make the policies mandatory, and run `vertex-training apply` without and with `--yes`.

    As for a user, the script of the pack is not on PATH, and variables of the engine name the pack as well.
    """
    path = engine.environment["PATH"].removeprefix(f"{pack}{os.pathsep}")
    variables = {"PATH": path, ENGINES_PACK: str(pack.parent), ENGINES_SETTINGS: str(settings)}
    engine.environment.update(variables)
    engine.set("vertex-training:policyPack", str(pack.parent))
    settings.write_text("{}")
    engine.write(TOOLS + NOBODYS)
    command(engine, "plan", "--save-plan", "plan.json").ok()
    settings.write_text(json.dumps(SETTINGS))
    apply = ("apply", "--plan", "plan.json")
    return command(engine, *apply), command(engine, *apply, "--yes")


def command(engine: Engine, *arguments: str) -> Result:
    done = subprocess.run(
        ["vertex-training", *arguments],
        cwd=engine.folder,
        env=engine.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
    )
    return Result(done.returncode, done.stdout)


def reported(result: Result, level: str) -> dict[str, set[str]]:
    """Return the names of the resources by policy that the output reports at a level."""
    found: dict[str, set[str]] = {}
    for policy, name in re.findall(rf"\[{level}\]\s+([\w-]+)\s+\(\S+: (\S+)\)", result.output):
        found.setdefault(policy, set()).add(name)
    return found


def test_a_pack_that_does_not_fit_its_package_names_the_remedy(pack: Path, tmp_path: Path) -> None:
    (tmp_path / "vertex_training").mkdir()
    (tmp_path / "vertex_training" / "__init__.py").touch()
    done = subprocess.run(
        [pack.parent / "venv" / "bin" / "python", pack.parent / "__main__.py"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("The environment of the policy pack does not fit it: No module named")
    assert f"Run `python {pack.parent / 'install.py'}`." in done.stderr


@pytest.mark.parametrize("policy", POLICIES)
def test_each_policy_is_advisory_unless_it_is_set(steps: Steps, policy: str) -> None:
    steps.advisory.ok()
    needs_no_settings = policy in {
        "spot-outside-production", "service-account", "encryption-key", "images", "timeout"
    }  # fmt: skip
    assert ("bad" in reported(steps.advisory, "advisory").get(policy, ())) is needs_no_settings


@pytest.mark.parametrize("policy", POLICIES)
def test_each_mandatory_policy_refuses_what_breaks_it(steps: Steps, policy: str) -> None:
    assert "bad" in reported(steps.refused.failed(), "mandatory")[policy]


@pytest.mark.parametrize("policy", POLICIES)
def test_each_mandatory_policy_accepts_what_keeps_it(steps: Steps, policy: str) -> None:
    assert policy not in reported(steps.passing_up.ok(), "mandatory")
    assert policy not in reported(steps.later.ok(), "mandatory")


def test_a_message_has_resource_path_value_and_remedy(steps: Steps) -> None:
    assert (
        "bad: worker_pool_specs[1].machine_spec.machine_type: 'n1-standard-8' is not allowed. "
        "Choose n1-standard-4."
    ) in steps.refused.output


def test_a_refused_deployment_submits_no_job(steps: Steps) -> None:
    assert set(reported(steps.refused.failed(), "mandatory")) == set(POLICIES)
    assert steps.jobs_after_refusal == []
    assert steps.jobs_after_up == ["train"]


def test_a_job_below_a_component_is_judged(steps: Steps) -> None:
    found = reported(steps.refused, "mandatory")
    assert {policy for policy, resources in found.items() if "child" in resources} == {
        "machine-types", "labels"
    }  # fmt: skip


def test_a_job_with_a_secret_is_judged_and_the_secret_is_not_printed(steps: Steps) -> None:
    assert "child: labels.team: the secret is not allowed. Choose vision." in steps.refused.output
    for result in (steps.refused, steps.passing_up, steps.later):
        assert "my-password" not in result.output


def test_a_value_that_is_not_known_in_the_preview_is_judged_in_the_deployment(steps: Steps) -> None:
    assert "last" not in reported(steps.later.ok(), "mandatory").get("labels", ())
    assert reported(steps.later_up.failed(), "mandatory") == {"labels": {"last"}}
    assert steps.buckets_after_later_up == ["data", "more"]


def test_a_misspelt_setting_is_reported(steps: Steps) -> None:
    assert reported(steps.advisory, "advisory")["machine-types"] == {"engine-test-test"}
    assert "machine-types.alowed: " in steps.advisory.output


def test_a_plan_has_the_same_violations(steps: Steps) -> None:
    assert steps.planned is not None
    assert steps.planned.failed
    found = steps.planned.document["violations"]
    assert {one["policy"] for one in found if one["level"] == "mandatory"} == set(POLICIES)
    assert {one["resource"] for one in found} == {"bad", "child"}


def test_prices_of_the_users_file_count_as_in_a_plan(steps: Steps) -> None:
    assert reported(steps.dearer.failed(), "mandatory") == {"hourly-cost": {"train", "priced"}}
    assert steps.planned_dearer is not None
    violations = steps.planned_dearer.document["violations"]
    assert {one["resource"] for one in violations if not one["undecided"]} == {"train", "priced"}
    (found,) = (one for one in violations if one["resource"] == "priced")
    assert found["message"].startswith("$400.")
    assert f"priced: {found['path']}: {found['message']}" in steps.dearer.output


def test_a_damaged_file_of_prices_counts_as_none(steps: Steps) -> None:
    assert reported(steps.later.ok(), "mandatory") == {}


def test_apply_enforces_the_policies_of_the_configuration(steps: Steps) -> None:
    assert reported(steps.applied.failed(), "mandatory") == {"labels": {"nobodys"}}
    assert (
        "Mandatory policies refuse the deployment. Nothing was changed; plan again." in steps.applied.output
    )
    assert steps.buckets_after_apply == steps.buckets_after_later_up


def test_apply_without_yes_shows_the_mandatory_policies_that_would_refuse_it(steps: Steps) -> None:
    assert steps.not_applied.failed().output == (
        "error: Mandatory policies refuse the deployment, and nothing was changed.\n"
        "  StagingBucket nobodys: labels.team: 'nobody' is not allowed. Choose vision. (the policy labels)\n"
    )
