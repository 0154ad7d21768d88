"""Cloud Build: build a Dockerfile on Google Cloud from a source in a bucket.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import (
    CloudError,
    DeadlineExceeded,
    FailedPrecondition,
    UnexpectedAnswer,
)
from pulumi_vertex_training.cloud.translation import translated
from vertex_emulator import machine_clock

API = "cloudbuild.googleapis.com"
BUILDER = "gcr.io/cloud-builders/docker"
BUILD_TIMEOUT = 3600
"""Time limit of a build, in seconds."""

_WAITING = ("STATUS_UNKNOWN", "PENDING", "QUEUED", "WORKING")
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 10.0


def build(
    endpoint: Endpoint,
    *,
    bucket: str,
    source: str,
    image: str,
    options: tuple[str, ...] = (),
    tell: Callable[[str], None],
    clock: Callable[[], float] = machine_clock.monotonic,
    sleep: Callable[[float], None] = machine_clock.sleep,
) -> str:
    """Build a source with `context/` and `Dockerfile`, push it as `image`, and return the digest.

    `source` is the name of the object in `bucket`. `options` are as in `docker build`. Raises
    FailedPrecondition with the URL of the log if the build fails, and DeadlineExceeded after the time limit.
    """
    action = f"build {image} with Cloud Build"
    # Cloud Build substitutes $NAME in arguments; $$ is a literal $ ("Substituting variable values").
    options = tuple(option.replace("$", "$$") for option in options)
    body = {
        "source": {"storageSource": {"bucket": bucket, "object": source}},
        "steps": [{"name": BUILDER, "args": ["build", "-t", image, "-f", "Dockerfile", *options, "context"]}],
        "images": [image],
        "timeout": f"{BUILD_TIMEOUT}s",
        "options": {"logging": "CLOUD_LOGGING_ONLY"},
    }
    denied = (
        f"Run `gcloud services enable {API} --project {endpoint.project}` if the API is not enabled. The "
        "account needs the role roles/cloudbuild.builds.editor."
    )
    url = f"{endpoint.address_of(API)}/v1/projects/{endpoint.project}/builds"
    with translated(endpoint, action, if_denied=denied):
        operation = rest.call(endpoint, "POST", url, body=body, idempotent=False)
    running: Mapping[str, Any] = (operation.get("metadata") or {}).get("build") or {}
    build_id = running.get("id")
    if not build_id:
        raise UnexpectedAnswer(f"Could not {action} ({endpoint}): the answer names no build.")
    tell(f"Cloud Build is building {image}: {running.get('logUrl', build_id)}")

    def read() -> Mapping[str, Any]:
        with translated(endpoint, action, if_denied=denied):
            return rest.call(endpoint, "GET", f"{url}/{build_id}")

    ended = _ended(endpoint, action, running, read, clock=clock, sleep=sleep)
    if ended["status"] != "SUCCESS":
        raise _failed(endpoint, action, ended)
    images = (ended.get("results") or {}).get("images") or [{}]
    digest = images[0].get("digest")
    if not digest:
        raise UnexpectedAnswer(f"Could not {action} ({endpoint}): build {build_id} names no digest.")
    return str(digest)


def _ended(
    endpoint: Endpoint,
    action: str,
    running: Mapping[str, Any],
    read: Callable[[], Mapping[str, Any]],
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Mapping[str, Any]:
    """Wait for the end of a build, and return it. Raises DeadlineExceeded."""
    deadline, pause = clock() + BUILD_TIMEOUT + endpoint.timeouts.build_answer, _FIRST_PAUSE
    while running.get("status", "STATUS_UNKNOWN") in _WAITING:
        if clock() >= deadline:
            raise DeadlineExceeded(
                f"Could not {action} ({endpoint}): build {running.get('id')} has not ended after "
                f"{BUILD_TIMEOUT} s. Its log: {running.get('logUrl', '')}"
            )
        sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
        running = read()
    return running


def _failed(endpoint: Endpoint, action: str, ended: Mapping[str, Any]) -> CloudError:
    said = ended.get("statusDetail") or (ended.get("failureInfo") or {}).get("detail") or ""
    return FailedPrecondition(
        f"Could not {action} ({endpoint}): the build ended as {ended['status']}. {said} Its log: "
        f"{ended.get('logUrl', '')}".replace(".  ", ". "),
        endpoint=endpoint,
        resource=action.partition(" ")[2],
    )
