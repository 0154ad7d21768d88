"""The findings of all checks of a preflight in a project of Google Cloud, over HTTP."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.preflight.finding import CHECKS
from pulumi_vertex_training.preflight.preflight import findings_of
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.runs.lookups import Lookups
from support.client.services.google_project import NUMBER, PROJECT, REGION, GoogleProject
from support.client.services.preflights import ACCOUNT, JOB, L4, bad, look, only, pool
from support.scripted_service import Answer


def test_a_project_in_order_passes_every_check_that_the_job_needs(google: GoogleProject) -> None:
    found = look(google)

    assert bad(found) == []
    assert {finding.check for finding in found} == set(CHECKS) - {"machines", "reservations", "network"}
    assert [finding.check for finding in found] == sorted(
        (finding.check for finding in found), key=CHECKS.index
    )
    assert "4 asked for, 0 of 8 in use" in [finding.message for finding in found]


def _disable(google: GoogleProject) -> None:
    google.disabled.add("aiplatform.googleapis.com")


def _deny(*permissions: str) -> Callable[[GoogleProject], None]:
    return lambda google: google.denied.update(permissions)


def _set(**values: Any) -> Callable[[GoogleProject], None]:
    def change(google: GoogleProject) -> None:
        for name, value in values.items():
            setattr(google, name, value)

    return change


ELSEWHERE = {"location": "US-EAST1", "projectNumber": NUMBER}
MISTAKES = {
    "service": (_disable, "services", "error", "gcloud services enable aiplatform.googleapis.com"),
    "job permission": (
        _deny("aiplatform.customJobs.create"),
        "permissions",
        "error",
        "--role=roles/aiplatform.user",
    ),
    "log permission": (
        _deny("logging.logEntries.list"),
        "permissions",
        "warning",
        "--role=roles/logging.viewer",
    ),
    "act as": (
        _deny("iam.serviceAccounts.actAs"),
        "permissions",
        "error",
        f"gcloud iam service-accounts add-iam-policy-binding {ACCOUNT}",
    ),
    "no account": (
        _set(account=None),
        "replicas",
        "error",
        "gcloud iam service-accounts create trainer --project=my-project",
    ),
    "disabled account": (
        _set(account={"disabled": True}),
        "replicas",
        "error",
        f"gcloud iam service-accounts enable {ACCOUNT}",
    ),
    "no access to the bucket": (
        _set(policy=[]),
        "replicas",
        "warning",
        f"gs://data --member=serviceAccount:{ACCOUNT} --role=roles/storage.objectUser",
    ),
    "access by a group": (
        _set(policy=[{"role": "roles/storage.objectUser", "members": ["group:team@example.com"]}]),
        "replicas",
        "unknown",
        "--role=roles/storage.objectUser",
    ),
    "access under a condition": (
        _set(
            bucket_policy=[],
            policy=[
                {
                    "role": "roles/editor",
                    "members": [f"serviceAccount:{ACCOUNT}"],
                    "condition": {"title": "t"},
                }
            ],
        ),
        "replicas",
        "unknown",
        "--role=roles/storage.objectUser",
    ),
    "no image": (_set(config=None), "images", "error", "docker push"),
    "platform": (
        _set(config={"os": "linux", "architecture": "arm64"}),
        "images",
        "error",
        "--platform=linux/amd64",
    ),
    "no bucket": (_set(bucket=None), "buckets", "error", "gcloud storage buckets create gs://data "),
    "region of the bucket": (_set(bucket=ELSEWHERE), "buckets", "error", "--location=us-central1"),
    "quotas denied": (_deny("GET quotaInfos"), "quota", "unknown", "--role=roles/cloudquotas.viewer"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_one_finding_with_what_fixes_it(google: GoogleProject, name: str) -> None:
    change, check, level, remedy = MISTAKES[name]
    change(google)

    finding = only(look(google))

    assert (finding.check, finding.level) == (check, level)
    assert remedy in finding.remedy, finding
    if finding.remedy.startswith("gcloud "):
        assert shlex.split(finding.remedy)


MADE = {
    "account": (_set(account=None), "trainer"),
    "bucket": (_set(bucket=None), "data"),
    "image": (_set(config=None), "train"),
    "service": (_disable, "aiplatform.googleapis.com"),
    "role": (_set(policy=[]), f"serviceAccount:{ACCOUNT}"),
}


@pytest.mark.parametrize("name", MADE)
def test_what_the_deployment_makes_is_not_missing(google: GoogleProject, name: str) -> None:
    change, made = MADE[name]
    change(google)

    assert bad(look(google)) != []
    assert bad(look(google, made=frozenset({made}))) == []


def test_nothing_that_is_not_known_yet_is_looked_up(google: GoogleProject) -> None:
    paths = {"base_output_directory", "serviceAccount", "worker_pool_specs[0].container_spec.image_uri"}
    google.config, google.bucket, google.account = None, None, None
    job = replace(JOB, worker_pool_specs=(pool(L4),))

    for gap in ("unknown", "passed_over"):
        assert bad(look(google, job, **{gap: frozenset(paths)})) == []


def test_a_service_that_does_not_answer_is_said_as_unknown(google: GoogleProject) -> None:
    google.answers = [("quotaInfos", Answer(delay=3600.0))]
    subject = Subject(name="train", collection="customJobs", spec=JOB)
    scope = Scope(project=PROJECT, location=REGION, is_emulator=False, subjects=(subject,))

    found = findings_of(scope, google.endpoint, Lookups(), seconds=1.0)

    late = [one for one in found if one.check == "quota"]
    assert [(one.level, one.message) for one in late] == [("unknown", "no answer in time")]


def test_a_host_that_refuses_connections_is_named_before_the_time_is_over(google: GoogleProject) -> None:
    closed = replace(
        google.endpoint(),
        addresses=tuple((host, "http://127.0.0.1:9") for host, _ in google.endpoint().addresses),
    )
    subject = Subject(name="train", collection="customJobs", spec=JOB)
    scope = Scope(project=PROJECT, location=REGION, is_emulator=False, subjects=(subject,))

    found = findings_of(scope, lambda: closed, Lookups(), seconds=5.0)

    (project,) = [one for one in found if one.check == "project"]
    assert (project.level, project.message) == ("unknown", "no connection: Connection refused")
    assert project.remedy.startswith("Check the network and the proxy")


def test_the_calls_are_those_of_google_s_apis(google: GoogleProject) -> None:
    look(google)

    assert {asked.path for asked in google.service.asked} >= {
        "/v1/projects/my-project/locations/global/services/aiplatform.googleapis.com/quotaInfos",
        "/v3/projects/my-project:testIamPermissions",
        "/v3/projects/my-project/timeSeries",
        f"/v1/projects/my-project/serviceAccounts/{ACCOUNT}:testIamPermissions",
    }
