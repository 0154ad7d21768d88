"""The job of Cloud Scheduler that is a schedule, which sends the declared job's own request to Vertex AI.

Cloud Scheduler sends the same bytes each time (docs/architecture/decisions/0015-schedules-by-one-request.md).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.kinds.training_schedule.spec import RetryConfig, ScheduleSpec, request_text
from vertex_training.fields.labels import is_provider_label, ownership_label_value

KEY_HEADER = "X-Vertex-Training-Key"
"""The header with the key of the resource: a job of Cloud Scheduler has no labels."""
OWNER_HEADER = "X-Vertex-Training-Owner"

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def job_wire(
    spec: ScheduleSpec, name: str, *, labels: Mapping[str, str], key: str, owner: str
) -> dict[str, Any]:
    """Return the job of Cloud Scheduler. `labels` are put on every run; `key` and `owner` identify it."""
    request = {**json.loads(spec.request)}
    request["labels"] = {**request.get("labels", {}), **labels}
    body = json.dumps(request, separators=(",", ":"), sort_keys=True)
    headers = {"Content-Type": "application/json", OWNER_HEADER: owner, **({KEY_HEADER: key} if key else {})}
    target: dict[str, Any] = {
        "uri": _jobs_url(spec),
        "httpMethod": "POST",
        "headers": headers,
        "body": base64.b64encode(body.encode()).decode(),
    }
    if spec.service_account:
        target["oauthToken"] = {"serviceAccountEmail": spec.service_account, "scope": _SCOPE}
    retry = spec.retry_config or RetryConfig()
    return {
        "name": name,
        "description": spec.description,
        "schedule": spec.schedule,
        "timeZone": spec.time_zone,
        "attemptDeadline": spec.attempt_deadline,
        "retryConfig": {
            "retryCount": retry.retry_count,
            "maxRetryDuration": retry.max_retry_duration,
            "minBackoffDuration": retry.min_backoff_duration,
            "maxBackoffDuration": retry.max_backoff_duration,
            "maxDoublings": retry.max_doublings,
        },
        "httpTarget": target,
    }


def spec_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the spec that the service's answer has. Raises ValueError for another job."""
    target = job.get("httpTarget") or {}
    try:
        request = json.loads(base64.b64decode(target.get("body", ""), validate=True))
        parent, collection = _place(str(target.get("uri")))
    except (ValueError, binascii.Error) as error:
        raise ValueError(f"{job.get('name')} does not submit a job: {error}") from None
    own = {name: value for name, value in request.get("labels", {}).items() if not is_provider_label(name)}
    request = {name: value for name, value in request.items() if name != "labels"}
    retry = job.get("retryConfig") or {}
    return {
        "schedule": job.get("schedule", ""),
        "time_zone": job.get("timeZone", ""),
        "paused": job.get("state") == "PAUSED",
        "service_account": (target.get("oauthToken") or {}).get("serviceAccountEmail"),
        "description": job.get("description", ""),
        "attempt_deadline": job.get("attemptDeadline", ""),
        "retry_config": RetryConfig(
            retry_count=int(retry.get("retryCount", 0)),
            max_retry_duration=retry.get("maxRetryDuration", "0s"),
            min_backoff_duration=retry.get("minBackoffDuration", "5s"),
            max_backoff_duration=retry.get("maxBackoffDuration", "3600s"),
            max_doublings=int(retry.get("maxDoublings", 5)),
        ),
        "request": str(request_text({**request, **({"labels": own} if own else {})})),
        "collection": collection,
        "parent": parent,
    }


def owner_of(marks: Mapping[str, str]) -> str:
    """Return project/stack/resource of a declaration, as the header of its job has it."""
    return "/".join(ownership_label_value(marks.get(name, "")) for name in ("project", "stack", "resource"))


def _jobs_url(spec: ScheduleSpec) -> str:
    """Return the address at Vertex AI that creates a job. The emulator knows Google's addresses, too."""
    location = spec.parent.rpartition("/")[2]
    return f"https://{location}-aiplatform.googleapis.com/v1/{spec.parent}/{spec.collection}"


def _place(url: str) -> tuple[str, str]:
    """Return the parent and the collection of an address that creates a job. Raises ValueError."""
    parts = url.partition("/v1/")[2].split("/")
    if len(parts) != 5:
        raise ValueError(f"{url} does not create a job")
    return "/".join(parts[:4]), parts[4]
