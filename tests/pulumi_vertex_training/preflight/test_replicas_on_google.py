"""The findings about the account of the replicas in Google Cloud, over HTTP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.client.services.google_project import NUMBER, REGION, REGISTRY, GoogleProject
from support.client.services.preflights import ACCOUNT, JOB, L4, OWN_ACCOUNT, bad, look, only, pool
from support.scripted_service import refusal


def test_vertex_ai_s_own_account_reaches_the_buckets_of_its_project_only(google: GoogleProject) -> None:
    job = replace(JOB, service_account=None)
    google.policy = []
    assert bad(look(google, job)) == []

    google.bucket = {"location": "us-central1", "projectNumber": "999"}
    finding = only(look(google, job))

    assert (finding.check, finding.level) == ("replicas", "warning")
    assert OWN_ACCOUNT in finding.remedy


def test_a_role_in_the_job_s_project_opens_no_bucket_of_another_one(google: GoogleProject) -> None:
    google.bucket = {"location": "us-central1", "projectNumber": "999"}
    google.policy = [{"role": "roles/storage.admin", "members": [f"serviceAccount:{ACCOUNT}"]}]

    finding = only(look(google))

    assert (finding.check, finding.level) == ("replicas", "warning")
    assert finding.message.startswith(f"neither the bucket nor its project lets {ACCOUNT} write to it")

    google.policy_elsewhere, google.policy = google.policy, []
    assert bad(look(google)) == []


@pytest.mark.parametrize(
    ("denied", "role"),
    [("POST my-project:getIamPolicy", "roles/browser"), ("GET iam", "roles/iam.securityReviewer")],
)
def test_a_policy_that_may_not_be_read_is_fixed_by_a_role_of_the_deployer(
    google: GoogleProject, denied: str, role: str
) -> None:
    google.policy = []
    google.denied.add(denied)

    finding = only(look(google))

    assert (finding.check, finding.level) == ("replicas", "unknown")
    assert f"whether {ACCOUNT} may write to it is not known: the policies cannot be read" in finding.message
    assert finding.remedy.startswith("gcloud projects add-iam-policy-binding my-project --member=user:")
    assert finding.remedy.endswith(f" --role={role} --condition=None")


def test_an_account_of_google_s_own_cannot_be_created(google: GoogleProject) -> None:
    google.account = None
    job = replace(JOB, service_account=f"{NUMBER}-compute@developer.gserviceaccount.com")

    finding = next(one for one in look(google, job) if one.level == "error")

    assert finding.message == "does not exist"
    assert finding.remedy == "gcloud iam service-accounts list --filter=email:developer.gserviceaccount.com"


def test_a_project_with_a_domain_is_named_as_gcloud_does(google: GoogleProject) -> None:
    google.account = None
    job = replace(JOB, service_account="trainer@my-project.example.com.iam.gserviceaccount.com")

    finding = next(one for one in look(google, job) if one.level == "error")

    assert finding.remedy == "gcloud iam service-accounts create trainer --project=example.com:my-project"


def test_a_missing_account_of_no_known_project_is_unknown(google: GoogleProject) -> None:
    google.account = None
    job = replace(JOB, service_account=OWN_ACCOUNT)

    found = [one for one in look(google, job) if one.about.startswith(f"service account {OWN_ACCOUNT}")]

    assert [(one.check, one.level) for one in found] == [("permissions", "ok"), ("replicas", "unknown")]


def test_an_account_that_may_not_be_read_may_be_disabled(google: GoogleProject) -> None:
    google.answers = [(ACCOUNT, refusal(403, "PERMISSION_DENIED", "Permission denied on it"))]

    finding = only(look(google))

    assert (finding.check, finding.level) == ("replicas", "unknown")
    assert finding.about == f"service account {ACCOUNT}: whether it is enabled"
    assert "--role=roles/iam.serviceAccountUser" in finding.remedy


def test_an_image_of_another_project_has_to_let_vertex_ai_read_it(google: GoogleProject) -> None:
    job = replace(JOB, worker_pool_specs=(pool(L4, image=f"{REGISTRY}/elsewhere/images/train:1"),))

    finding = only(look(google, job))

    assert (finding.check, finding.level) == ("replicas", "warning")
    assert finding.remedy == (
        "gcloud artifacts repositories add-iam-policy-binding images --project=elsewhere "
        f"--location={REGION} --member=serviceAccount:{OWN_ACCOUNT} "
        "--role=roles/artifactregistry.reader"
    )
