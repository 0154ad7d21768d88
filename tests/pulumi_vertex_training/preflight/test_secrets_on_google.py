"""The findings about secrets that variables of a job name, in Google Cloud, over HTTP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.client.services.google_project import NUMBER, GoogleProject
from support.client.services.preflights import ACCOUNT, IMAGE, JOB, L4, OWN_ACCOUNT, bad, look, only
from support.scripted_service import Answer, refusal
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import ContainerSpec, EnvVar, WorkerPoolSpec

SECRET = "projects/my-project/secrets/wandb"
PATH = "worker_pool_specs[0].container_spec.env[1].value"


def reading(secret: str = SECRET, account: str | None = ACCOUNT) -> CustomJobSpec:
    env = (EnvVar(name="NOT_ONE", value="secrets/wandb"), EnvVar(name="TOKEN", value=secret))
    task = ContainerSpec(image_uri=IMAGE, env=env)
    return replace(
        JOB,
        worker_pool_specs=(WorkerPoolSpec(machine_spec=L4, replica_count=1, container_spec=task),),
        service_account=account,
    )


def policy(google: GoogleProject, role: str, member: str, name: str = "wandb") -> None:
    binding = {"role": role, "members": [member]}
    google.answers.append((f"secrets/{name}:getIamPolicy", Answer(document={"bindings": [binding]})))


@pytest.mark.parametrize("secret", [SECRET, f"{SECRET}/versions/3"])
def test_an_account_with_the_role_on_the_secret_may_read_it(google: GoogleProject, secret: str) -> None:
    policy(google, "roles/secretmanager.secretAccessor", f"serviceAccount:{ACCOUNT}")
    found = look(google, reading(secret))
    assert bad(found) == []
    assert (f"secret {SECRET}", f"{ACCOUNT} may read it", PATH) in [
        (one.about, one.message, one.path) for one in found
    ]


def test_an_account_without_it_is_a_warning_with_the_command(google: GoogleProject) -> None:
    policy(google, "roles/secretmanager.viewer", f"serviceAccount:{ACCOUNT}")
    finding = only(look(google, reading()))
    assert (finding.check, finding.level, finding.path) == ("replicas", "warning", PATH)
    assert finding.message.startswith(f"neither its policy nor its project's lets {ACCOUNT} read it")
    assert finding.remedy == (
        f"gcloud secrets add-iam-policy-binding wandb --project=my-project --member=serviceAccount:{ACCOUNT} "
        "--role=roles/secretmanager.secretAccessor"
    )


def test_a_job_without_an_account_reads_as_that_of_vertex_ai(google: GoogleProject) -> None:
    policy(google, "roles/secretmanager.secretAccessor", f"serviceAccount:{OWN_ACCOUNT}")
    assert bad(look(google, reading(account=None))) == []


def test_a_secret_of_another_project_may_be_granted_there(google: GoogleProject) -> None:
    policy(google, "roles/secretmanager.viewer", "user:ada@example.com")
    google.policy += [{"role": "roles/secretmanager.admin", "members": [f"serviceAccount:{ACCOUNT}"]}]
    finding = only(look(google, reading("projects/other/secrets/wandb")))
    assert finding.level == "unknown"
    assert "--project=other" in finding.remedy
    google.answers.clear()
    policy(google, "roles/secretmanager.viewer", "user:ada@example.com")
    assert bad(look(google, reading(f"projects/{NUMBER}/secrets/wandb"))) == []


def test_a_secret_that_does_not_exist_or_whose_policy_is_not_shown(google: GoogleProject) -> None:
    google.answers = [("secrets/wandb:getIamPolicy", refusal(404, "NOT_FOUND", "Secret not found."))]
    finding = only(look(google, reading()))
    assert (finding.level, finding.message) == ("error", "does not exist")
    assert finding.remedy == "gcloud secrets create wandb --project=my-project --data-file=FILE"
    google.answers = [("secrets/wandb:getIamPolicy", refusal(403, "PERMISSION_DENIED", "no"))]
    finding = only(look(google, reading()))
    assert finding.level == "unknown"
    assert finding.remedy.endswith("--role=roles/iam.securityReviewer --condition=None")


def test_a_regional_secret_names_its_location(google: GoogleProject) -> None:
    secret = "projects/my-project/locations/europe-west4/secrets/wandb"
    host = "secretmanager.europe-west4.rep.googleapis.com"
    policy(google, "roles/owner", "user:ada@example.com")
    endpoint = google.endpoint()
    elsewhere = replace(endpoint, addresses=(*endpoint.addresses, (host, google.service.url)))
    google.endpoint = lambda: elsewhere  # type: ignore[method-assign]
    assert "--location=europe-west4" in only(look(google, reading(secret))).remedy
