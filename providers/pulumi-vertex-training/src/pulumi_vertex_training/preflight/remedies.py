"""Commands and pages that fix the findings of a preflight."""

from __future__ import annotations

import shlex
from pathlib import Path

from vertex_emulator import of_data_dir

LOGIN = "gcloud auth application-default login"
_EMULATOR = "vertex-training emulator"
_ENABLE = "gcloud services enable "
_GRANTS = "add-iam-policy-binding"
_TO_CALLER = "--member=user:"
"""The member of a grant to the emulator's caller, whose token names no account."""
ALLOW = f"{_EMULATOR} allow"
"""The command that takes back what the emulator denies."""
AGAIN = "Check the network and the proxy, or look at https://status.cloud.google.com, then run it again."


def sentence(remedy: str) -> str:
    """Return a remedy as a sentence that follows a message: a command to run, or a page to see."""
    if not remedy or remedy.endswith("."):
        return remedy
    return f"See {remedy}." if remedy.startswith("https://") else f"To fix it, run `{remedy}`."


def enable(service: str, project: str) -> str:
    """Return the command that enables a service."""
    return f"{_ENABLE}{service} --project={shlex.quote(project)}"


def set_quota_project(project: str) -> str:
    """Return the command that adds a quota project to the credentials of a person."""
    return f"gcloud auth application-default set-quota-project {shlex.quote(project)}"


def on_project(project: str, member: str, role: str) -> str:
    """Return the command that grants a role on a project. `member` is quoted for a shell already."""
    return (
        f"gcloud projects {_GRANTS} {shlex.quote(project)} --member={member} --role={role} --condition=None"
    )


def on_bucket(bucket: str, member: str, role: str) -> str:
    """Return the command that grants a role on a bucket."""
    return f"gcloud storage buckets {_GRANTS} {shlex.quote(f'gs://{bucket}')} --member={member} --role={role}"


def on_account(email: str, member: str, role: str) -> str:
    """Return the command that grants a role on a service account."""
    return f"gcloud iam service-accounts {_GRANTS} {shlex.quote(email)} --member={member} --role={role}"


def on_repository(name: str, member: str, role: str) -> str:
    """Return the command that grants a role on a repository, by its full name."""
    _, project, _, location, _, repository = name.split("/")
    return (
        f"gcloud artifacts repositories {_GRANTS} {repository} --project={project} "
        f"--location={location} --member={member} --role={role}"
    )


def on_secret(name: str, member: str, role: str) -> str:
    """Return the command that grants a role on a secret, by its full name."""
    _, project, *rest, _, secret = name.split("/")
    location = f" --location={rest[1]}" if rest[:1] == ["locations"] else ""
    return f"gcloud secrets {_GRANTS} {secret} --project={project}{location} --member={member} --role={role}"


def new_secret(name: str) -> str:
    """Return the command that creates a secret, by its full name."""
    _, project, *rest, _, secret = name.split("/")
    location = f" --location={rest[1]}" if rest[:1] == ["locations"] else ""
    return f"gcloud secrets create {secret} --project={project}{location} --data-file=FILE"


def on_emulator(remedy: str, data_dir: Path | None = None) -> str:
    """Return what to do on the emulator, where its own settings deny the caller a permission or a service.

    What a policy does not grant to another account is granted there as in Google Cloud. `data_dir` is the
    emulator's data folder, None for the default one.
    """
    if remedy.startswith(_ENABLE):
        remedy = f"{_EMULATOR} service enable {remedy.removeprefix(_ENABLE)}"
    elif _GRANTS in remedy and _TO_CALLER in remedy:
        remedy = ALLOW
    elif remedy in (AGAIN, LOGIN):
        remedy = f"{_EMULATOR} status"
    return f"{remedy}{of_data_dir(data_dir)}" if remedy.startswith(_EMULATOR) else remedy


def quota_of_emulator(metric: str, limit: int, region: str) -> str:
    """Return the command that sets a quota of the emulator. `metric` is the name without its service."""
    name = metric.removeprefix("custom_model_training_")
    return f"{_EMULATOR} quota set {name} {limit} --region {region}"


def new_bucket(name: str, location: str, project: str) -> str:
    """Return the command that creates a bucket."""
    where = f"--location={shlex.quote(location)} --project={shlex.quote(project)}"
    return f"gcloud storage buckets create {shlex.quote(f'gs://{name}')} {where}"


def upload(uri: str) -> str:
    """Return the command that uploads a file of this folder as an object."""
    return f"gcloud storage cp {shlex.quote(uri.rpartition('/')[2])} {shlex.quote(uri)}"


def quota_page(project: str) -> str:
    """Return the page on which more quota is requested."""
    return f"https://console.cloud.google.com/iam-admin/quotas?project={project}"
