"""Check credentials, service and project before anything is sent."""

from __future__ import annotations

import os

from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google.recorder import CaseError, CredentialsError, send

_REDIRECTIONS = ("STORAGE_EMULATOR_HOST", "VERTEX_EMULATOR_HOST", "GCE_METADATA_HOST")
"""Variables of `vertex-training emulator env`: with them, Google's libraries call the emulator."""


class PreflightError(Exception):
    """The run cannot begin; the text has the command that helps."""


def check_environment(endpoint: Endpoint) -> None:
    """Check that credentials exist, and that no variable points at an emulator. Raises PreflightError."""
    if endpoint.token is not None:
        return
    redirected = [name for name in _REDIRECTIONS if os.environ.get(name)]
    if redirected:
        raise PreflightError(
            f"{', '.join(redirected)} is set, so calls to Google Cloud would reach an emulator. "
            f"Run `unset {' '.join(redirected)}`, and try again."
        )
    import google.auth
    import google.auth.exceptions

    try:
        google.auth.default()
    except google.auth.exceptions.DefaultCredentialsError as error:
        raise PreflightError(
            "There are no credentials for Google Cloud. Log in, and try again:\n"
            "  gcloud auth application-default login"
        ) from error


def check_service(endpoint: Endpoint) -> None:
    """Check that the account may use Vertex AI in the project. Raises PreflightError."""
    try:
        reply = send(
            endpoint,
            "GET",
            f"{endpoint.vertex_url}/v1/{endpoint.parent}/customJobs",
            query={"pageSize": "1"},
        )
    except CredentialsError as error:
        raise PreflightError(
            f"For Google Cloud, {error}\nLog in again:\n  gcloud auth application-default login"
        ) from error
    except CaseError as error:
        raise PreflightError(f"Vertex AI in {endpoint.location} does not answer: {error}") from error
    if reply.is_success:
        return
    message = str(reply.body.get("error", {}).get("message", ""))[:500]
    if reply.status == 401:
        advice = "Log in again:\n  gcloud auth application-default login"
    elif "SERVICE_DISABLED" in str(reply.body) or "has not been used in project" in message:
        names = ("aiplatform", "storage", "artifactregistry", "logging")
        services = " ".join(f"{name}.googleapis.com" for name in names)
        advice = f"Enable the services:\n  gcloud services enable {services} --project {endpoint.project}"
    elif "quota project" in message:
        project = endpoint.project
        advice = f"Name it:\n  gcloud auth application-default set-quota-project {project}"
    elif reply.status in (403, 404):
        advice = (
            "Check the project's id, and that your account has roles/aiplatform.user, roles/storage.admin,\n"
            "roles/artifactregistry.admin and roles/logging.viewer there:\n"
            f"  gcloud projects get-iam-policy {endpoint.project}"
        )
    else:
        advice = "Try again later."
    raise PreflightError(f"Vertex AI answered {reply.status}: {message}\n{advice}")
