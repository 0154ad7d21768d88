"""`vertex-training preflight` of a stack, and the preflight of a preview, on the real engine.

For the endpoint `google`, the emulator's proxy stands for Google's hosts.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pulumi_vertex_training.kinds.custom_job import gateway as jobs
from support.client.builds.built_images import write_files
from support.client.engine import Engine, Result
from support.client.shared_engine import mentions
from support.client.shared_engine import shared_engine as shared_engine
from support.emulated.emulator import call

pytestmark = pytest.mark.slow

PREBUILT = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
ACCOUNT = "trainer@local.iam.gserviceaccount.com"
BUCKET = 'vt.StagingBucket("out", name="preflight-out", location="us-central1", force_destroy=True)'
JOBS = f"""
jobs = {{}}
for name in config.require_object("names"):
    hides = name == "hidden"
    seconds = "600" if hides else config.get("seconds")
    jobs[name] = vt.CustomJob(
        name,
        worker_pool_specs=[
            {{
                "machine_spec": {{"machine_type": "n1-standard-4"}},
                "replica_count": 1,
                "container_spec": {{
                    "image_uri": "{PREBUILT}",
                    "command": ["sleep", seconds],
                    "env": [{{"name": "WORD", "value": pulumi.Output.secret("hush-hush") if hides else ""}}],
                }},
            }}
        ],
        base_output_directory="gs://preflight-out/out",
        service_account="{ACCOUNT}",
    )
for name, (job, times, paused) in config.require_object("schedules").items():
    vt.TrainingSchedule(name, job=jobs[job], schedule=times, paused=paused)
"""
LEAP_DAY, LATER_THEN = "0 0 29 2 *", "0 1 29 2 *"

OWN = f"""
machine = vt.MachineSpecArgs(machine_type="n1-standard-4")
vt.DistributedTraining(
    "package",
    chief=vt.WorkerPoolSpecArgs(machine_spec=machine),
    bucket={{"force_destroy": True}},
    package={{"source": "task.py"}},
    executor_image_uri="{PREBUILT}",
)
vt.DistributedTraining(
    "image",
    chief=vt.WorkerPoolSpecArgs(machine_spec=machine),
    workers=vt.WorkerPoolSpecArgs(machine_spec=machine),
    bucket={{"force_destroy": True}},
    image={{"source": "trainer", "base_image": "python:3.11-slim"}},
)
"""
"""Two jobs with a bucket, a package and an image of their own, which the deployment makes."""

LATE_ACCOUNT = "late@local.iam.gserviceaccount.com"
NAMED = f"""
vt.CustomJob(
    "named",
    worker_pool_specs=[
        {{
            "machine_spec": {{"machine_type": "n1-standard-4"}},
            "replica_count": 1,
            "container_spec": {{"image_uri": "{PREBUILT}"}},
        }}
    ],
    base_output_directory="gs://preflight-out/out",
    service_account="{LATE_ACCOUNT}",
    network="projects/123/global/networks/late",
)
"""
"""A job that names an account and a network that do not exist, in a project without a service."""

# The plugin of pulumi_gcp is not installed, but a component can have its type and its inputs.
MAKERS = """
for token, inputs in {
    "gcp:serviceaccount/account:Account": {"account_id": "late"},
    "gcp:compute/network:Network": {"name": "late"},
    "gcp:projects/service:Service": {"service": "logging.googleapis.com"},
}.items():
    pulumi.ComponentResource(token, token.rpartition(":")[2], inputs)
"""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The results of the command and of previews, by step; `live` are the live jobs at the end."""

    commands: dict[str, subprocess.CompletedProcess[str]]
    previews: dict[str, Result]
    live: list[str]

    def findings(self, step: str) -> list[dict[str, Any]]:
        """Return the findings of a step that are not in order."""
        ran = self.commands[step]
        document = json.loads(ran.stdout)
        return [one for one in document["findings"] if one["level"] != "ok"]


def run(engine: Engine, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["vertex-training", *arguments],
        cwd=engine.folder,
        env=engine.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def forget(engine: Engine) -> None:
    """Delete an account, and disable a service. Nothing is denied any more."""
    endpoint = engine.endpoint()
    service = {"service": "logging.googleapis.com", "project": "local", "enabled": False}
    for method, path, body in (
        ("DELETE", f"/v1/projects/local/serviceAccounts/{LATE_ACCOUNT}", None),
        ("PUT", "/_local/services", service),
    ):
        answer = call(endpoint.vertex_url, method, path, body=body, token=endpoint.token)
        assert answer.status == 200, answer.body
    allow(engine)


def allow(engine: Engine) -> None:
    endpoint = engine.endpoint()
    answer = call(endpoint.vertex_url, "DELETE", "/_local/denials", token=endpoint.token)
    assert answer.status == 200, answer.body


def deny(engine: Engine, *permissions: str) -> None:
    endpoint = engine.endpoint()
    for permission in permissions:
        body = {"permission": permission, "resource": None}
        answer = call(endpoint.vertex_url, "POST", "/_local/denials", body=body, token=endpoint.token)
        assert answer.status == 200, answer.body


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    write_files(engine.folder / "infra", {"task.py": "pass\n", "trainer/task.py": "pass\n"})
    engine.set("vertex-training:preflightTimeout", "120")  # no test bets on the speed of a machine
    commands: dict[str, subprocess.CompletedProcess[str]] = {}
    previews: dict[str, Result] = {}

    def declare(*names: str, schedules: Mapping[str, tuple[str, str, bool]] | None = None) -> None:
        engine.set("names", json.dumps(names))
        engine.set("schedules", json.dumps(schedules or {}))

    def look(step: str) -> None:
        commands[step] = run(engine, "preflight", "--json", "--timeout", "120")

    def allow_cpus(count: int) -> None:
        run(engine, "emulator", "quota", "set", "cpus", str(count)).check_returncode()

    engine.set("seconds", "600")
    engine.write(f"{OWN}\n{BUCKET}\n{JOBS}")
    declare("one")
    look("new")
    engine.up().ok()
    look("unchanged")
    write_files(engine.folder / "infra", {"task.py": "print(1)\n", "trainer/task.py": "print(1)\n"})
    look("changed")

    engine.write(f"{BUCKET}\n{JOBS}")
    allow_cpus(3)
    declare(
        "one",
        "two",
        "hidden",
        schedules={
            "yearly": ("one", LEAP_DAY, False),
            "idle": ("one", LEAP_DAY, True),
            "of-two": ("two", LEAP_DAY, False),
        },
    )
    look("scheduled")
    allow_cpus(11)
    steady = ("one", LEAP_DAY, False)
    declare("one", "hidden", schedules={"idle": ("one", LEAP_DAY, True), "steady": steady})
    engine.up().ok()
    allow_cpus(3)
    declare(
        "one",
        "hidden",
        schedules={
            "idle": ("one", LEAP_DAY, False),
            "steady": ("one", LATER_THEN, False),
            "of-hidden": ("hidden", LEAP_DAY, False),
        },
    )
    look("resumed")
    allow_cpus(11)
    declare("one", "hidden", "two")
    look("one more")
    declare("one", "hidden", "two", "three", "four")
    look("too many")
    deny(engine, "aiplatform.customJobs.create")
    engine.set("seconds", "601")
    declare("one", "hidden")
    look("replaced, denied")
    live = sorted(job.display_name for job in jobs.list_live(engine.endpoint()))

    engine.set("vertex-training:endpoint", "google")
    engine.set("vertex-training:project", "local")
    engine.set("vertex-training:location", "us-central1")
    exported = run(engine, "emulator", "env", "--proxy").stdout
    for line in exported.splitlines():
        name, _, value = shlex.split(line.removeprefix("export "))[0].partition("=")
        engine.environment[name] = value
    engine.write(JOBS)
    allow_cpus(17)
    declare("a", "b", "c")
    previews["above, denied"] = engine.preview()
    engine.environment["VERTEX_TRAINING_PREFLIGHT"] = "off"
    previews["off"] = engine.preview()
    del engine.environment["VERTEX_TRAINING_PREFLIGHT"]
    engine.set("vertex-training:preflightTimeout", "0")
    previews["no time"] = engine.preview()
    engine.set("vertex-training:preflightTimeout", "120")
    allow(engine)
    previews["above"] = engine.preview()
    allow_cpus(28)
    declare("a", "b")
    engine.write(OWN + JOBS)
    previews["below"] = engine.preview()
    forget(engine)
    for name, program in (("missing", NAMED), ("made", MAKERS + NAMED)):
        engine.write(program)
        previews[name] = engine.preview()
        commands[name] = run(engine, "preflight", "--json", "--timeout", "120")
    return Steps(commands=commands, previews=previews, live=live)


@pytest.mark.parametrize("step", ["new", "changed"])
def test_what_the_program_itself_makes_is_not_missing(steps: Steps, step: str) -> None:
    assert steps.commands[step].returncode == 0, steps.commands[step].stdout
    assert steps.findings(step) == []
    assert json.loads(steps.commands[step].stdout)["findings"] != []


def test_a_preview_of_google_cloud_misses_nothing_that_its_program_makes(steps: Steps) -> None:
    assert "does not exist" not in steps.previews["below"].ok().output


ABSENT = ("late@local.iam.gserviceaccount.com", "logging.googleapis.com")


def test_accounts_networks_and_services_that_the_deployment_makes_are_not_missing(steps: Steps) -> None:
    before = steps.previews["missing"].failed().output
    assert all(name in before for name in ABSENT)
    assert not any(name in steps.previews["made"].ok().output for name in ABSENT)

    assert {one["about"].rpartition(" ")[2] for one in steps.findings("missing")} >= set(ABSENT)
    assert steps.commands["made"].returncode == 0, steps.commands["made"].stdout


def test_an_unchanged_stack_submits_nothing(steps: Steps) -> None:
    assert json.loads(steps.commands["unchanged"].stdout)["findings"] == []


@pytest.mark.parametrize(("step", "schedule"), [("scheduled", "yearly"), ("resumed", "idle")])
def test_the_job_of_a_schedule_that_is_new_or_resumed_is_checked(
    steps: Steps, step: str, schedule: str
) -> None:
    assert steps.commands[step].returncode == 1
    (finding,) = (one for one in steps.findings(step) if one["resource"] == schedule)
    assert (finding["check"], finding["level"]) == ("quota", "error")
    assert finding["remedy"] == "vertex-training emulator quota set cpus 4 --region us-central1"


def test_a_schedule_whose_job_is_submitted_adds_nothing(steps: Steps) -> None:
    found = {one["resource"]: one for one in steps.findings("scheduled")}
    assert (found["two"]["check"], found["two"]["message"][:2]) == ("quota", "4 ")
    assert "of-two" not in found


def test_a_schedule_that_starts_no_other_runs_is_not_checked(steps: Steps) -> None:
    """Declare a schedule that is paused, and another time for one that is not."""
    assert {one["resource"] for one in steps.findings("scheduled")} == {"yearly", "two", "hidden"}
    assert {one["resource"] for one in steps.findings("resumed")} == {"idle", "of-hidden"}


@pytest.mark.parametrize(
    ("step", "resource", "together"), [("scheduled", "hidden", 12), ("resumed", "of-hidden", 4)]
)
def test_a_secret_variable_hides_no_quota(steps: Steps, step: str, resource: str, together: int) -> None:
    (finding,) = (one for one in steps.findings(step) if one["resource"] == resource)
    assert (finding["check"], finding["level"]) == ("quota", "error")
    assert finding["remedy"] == f"vertex-training emulator quota set cpus {together} --region us-central1"


def test_a_job_that_is_replaced_leaves_its_quota(steps: Steps) -> None:
    assert [one for one in steps.findings("replaced, denied") if one["check"] == "quota"] == []


def test_a_live_job_leaves_too_little_for_another(steps: Steps) -> None:
    (finding,) = steps.findings("one more")
    assert (finding["check"], finding["level"]) == ("quota", "warning")
    assert steps.commands["one more"].returncode == 0


def test_the_jobs_of_a_deployment_are_added_up(steps: Steps) -> None:
    (finding,) = steps.findings("too many")
    assert finding["level"] == "warning"
    assert finding["message"].startswith(
        "four, three and two ask for 12 together, but the quota is 11 and 8 are in use; "
    )
    assert finding["remedy"] == "vertex-training emulator quota set cpus 20 --region us-central1"
    assert steps.commands["too many"].returncode == 0


def test_a_preview_warns_once_of_jobs_that_fit_the_quota_each_and_not_together(steps: Steps) -> None:
    for output in (steps.previews["above"].ok().output, steps.previews["above, denied"].failed().output):
        (line,) = mentions(output, "together").splitlines()
        said = "a, b and c ask for 12 together, but 8 of 17 are in use; a job that waits for the completion"
        assert f"custom_model_training_cpus in us-central1: {said}" in line
        assert line.endswith("See https://console.cloud.google.com/iam-admin/quotas?project=local.")
    assert "custom_model_training" not in steps.previews["below"].ok().output


def test_a_denied_permission_is_found_before_anything_is_cancelled(steps: Steps) -> None:
    found = {(one["check"], one["level"]) for one in steps.findings("replaced, denied")}
    assert ("permissions", "error") in found
    assert steps.commands["replaced, denied"].returncode == 1
    assert steps.live == ["hidden", "one"]


def test_a_preview_of_google_cloud_fails_with_what_fixes_it(steps: Steps) -> None:
    output = steps.previews["above, denied"].failed().output
    assert "the deployer lacks aiplatform.customJobs.create" in output
    assert "--role=roles/aiplatform.user" in output


def test_the_preflight_of_previews_can_be_turned_off(steps: Steps) -> None:
    for name in ("off", "no time"):
        assert "the deployer lacks" not in steps.previews[name].ok().output
