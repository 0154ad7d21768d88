"""The findings about the deployer, the project and its services in Google Cloud, over HTTP."""

from __future__ import annotations

from support.client.services.google_project import GoogleProject
from support.client.services.preflights import ACCOUNT, bad, look, only
from support.scripted_service import refusal


def test_a_project_that_is_denied_as_a_whole_may_not_exist(google: GoogleProject) -> None:
    denied = refusal(403, "PERMISSION_DENIED", "The caller does not have permission")
    google.answers = [("/v3/projects/my-project", denied), ("/my-project:testIamPermissions", denied)]

    finding = next(one for one in look(google) if one.check == "project")

    assert finding.level == "unknown"
    assert finding.message.startswith("does not exist, or the account has no role in it: ")
    assert finding.remedy == "gcloud projects list"

    google.answers = google.answers[:1]
    finding = next(one for one in look(google) if one.check == "project")
    assert "--role=roles/browser" in finding.remedy


def test_the_account_of_a_plan_need_not_be_the_deployer_s(google: GoogleProject) -> None:
    google.denied |= {f"aiplatform.customJobs.{verb}" for verb in ("create", "cancel", "delete")}
    google.denied.add("iam.serviceAccounts.actAs")

    assert bad(look(google, is_preview=True)) == []
    assert bad(look(google)) == [("permissions", "error")] * 2
    google.denied.remove("aiplatform.customJobs.cancel")
    assert bad(look(google, is_preview=True)) == [("permissions", "error")] * 2


def test_the_runs_of_a_schedule_are_not_submitted_by_the_deployer(google: GoogleProject) -> None:
    google.denied |= {"aiplatform.customJobs.create", "logging.logEntries.list", "iam.serviceAccounts.actAs"}

    found = look(google, is_scheduled=True)
    assert bad(found) == []
    assert not [one for one in found if one.check == "permissions"]
    assert [one.message for one in found if one.about == f"service account {ACCOUNT}"] == ["is enabled"]

    google.account = {"disabled": True}
    assert bad(look(google, is_scheduled=True)) == [("replicas", "error")]


def test_without_credentials_there_is_one_finding(google: GoogleProject) -> None:
    google.answers = [
        ("", refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."))
    ]

    (finding,) = look(google)

    assert (finding.check, finding.level) == ("credentials", "error")
    assert finding.message == "Request had invalid authentication credentials"
    assert finding.remedy == "gcloud auth application-default login"


def test_a_service_that_fails_is_said_as_unknown_with_its_words(google: GoogleProject) -> None:
    google.answers = [("services:batchGet", refusal(400, "INVALID_ARGUMENT", "Nothing goes"))]

    finding = only(look(google))

    assert (finding.check, finding.level) == ("services", "unknown")
    assert "Nothing goes" in finding.message
