"""The requests to Cloud Scheduler and Workflows that make up a schedule, and the schedule in their answers.

A schedule is a job of Cloud Scheduler, which sends the job's own request to Vertex AI. Where runs differ or
depend on other runs, it starts a workflow instead, which is given the request and submits it
(docs/architecture/decisions/0011-schedules.md).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_vertex_training.kinds.training_schedule.spec import (
    RetryConfig,
    ScheduleSpec,
    request_text,
    uses_workflow,
    workflow_name,
)
from vertex_training.fields.labels import is_provider_label, ownership_label_value

KEY_HEADER = "X-Vertex-Training-Key"
"""The header with the key of the resource: a job of Cloud Scheduler has no labels."""
OWNER_HEADER = "X-Vertex-Training-Owner"
OVERLAP_LABEL = "vertex-training-overlap"

DIRECTORY = ("baseOutputDirectory", "outputUriPrefix")

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_AUTH = {"type": "OAuth2"}
_EXECUTION_ID = 'sys.get_env("GOOGLE_CLOUD_WORKFLOW_EXECUTION_ID")'
# The list has the newest execution first.
_OLDEST = "others.body.executions[len(others.body.executions) - 1].name"
_QUEUE_SECONDS, _CANCEL_SECONDS = 60, 15
_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")
_ENDED_JOBS = (*_ENDED, "EXPIRED", "PARTIALLY_SUCCEEDED")


def job_wire(
    spec: ScheduleSpec, name: str, *, labels: Mapping[str, str], key: str, owner: str
) -> dict[str, Any]:
    """Return the job of Cloud Scheduler. `labels` are put on every run; `key` and `owner` identify it."""
    request = {**json.loads(spec.request)}
    request["labels"] = {**request.get("labels", {}), **labels}
    if uses_workflow(spec):
        uri = f"https://workflowexecutions.googleapis.com/v1/{workflow_name(name)}/executions"
        body = {"argument": _text(_argument(spec, name, request, labels))}
    else:
        uri, body = _jobs_url(spec), request
    headers = {"Content-Type": "application/json", OWNER_HEADER: owner, **({KEY_HEADER: key} if key else {})}
    target: dict[str, Any] = {
        "uri": uri,
        "httpMethod": "POST",
        "headers": headers,
        "body": base64.b64encode(_text(body).encode()).decode(),
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


def workflow_wire(spec: ScheduleSpec, *, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the workflow of a schedule; `labels` identify it."""
    account = {"serviceAccount": spec.service_account} if spec.service_account else {}
    return {
        "description": f"Submits the runs of a schedule; overlap: {spec.overlap}.",
        "labels": {**labels, OVERLAP_LABEL: spec.overlap},
        "sourceContents": json.dumps(definition(spec), indent=1),
        **account,
    }


def definition(spec: ScheduleSpec) -> dict[str, Any]:
    """Return the definition of the workflow (Workflows documentation, "Syntax overview")."""
    directory = directory_path(json.loads(spec.request)) if spec.own_directory else None
    assigned: list[dict[str, Any]] = [{"request": "${args.request}"}]
    if directory is not None:
        place = f"request.{'.'.join(directory)}"
        stamp = 'text.replace_all(text.substring(time.format(sys.now()), 0, 19), ":", "-")'
        run = f"text.substring({_EXECUTION_ID}, 0, 8)"
        assigned.append({place: f'${{{place} + {stamp} + "-" + {run} + "/"}}'})
    steps: list[dict[str, Any]] = [{"prepare": {"assign": assigned}}]
    if spec.overlap != "allow":
        steps += _look(spec)
    if spec.overlap == "queue":
        steps.append(_pause(_QUEUE_SECONDS))
    if spec.overlap == "cancel":
        steps += [dict(_STOP), _pause(_CANCEL_SECONDS)]
    steps += [
        {
            "submit": {
                "call": "http.post",
                "args": {"url": "${args.url}", "body": "${request}", "auth": _AUTH},
                "result": "created",
            }
        },
        {"finish": {"return": "${created.body.name}"}},
    ]
    if spec.overlap == "skip":
        steps += [
            {"skipped": {"return": '${"skipped: " + live[0].name + " is live"}'}},
            {"second": {"return": "skipped: another run is being submitted"}},
        ]
    return {"main": {"params": ["args"], "steps": steps}}


def directory_path(request: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the keys that lead to the output directory in a job's request, or None without one."""
    for key, value in request.items():
        if key == DIRECTORY[0]:
            return DIRECTORY
        if isinstance(value, Mapping) and (below := directory_path(value)) is not None:
            return (key, *below)
    return None


def spec_of(
    job: Mapping[str, Any], workflow: Mapping[str, Any] | None, *, own_directory: bool
) -> dict[str, Any]:
    """Return the fields of the spec that the services' answers have. Raises ValueError for another job."""
    target = job.get("httpTarget") or {}
    try:
        body = json.loads(base64.b64decode(target.get("body", ""), validate=True))
        argument = (
            json.loads(body["argument"])
            if "argument" in body
            else {"url": target.get("uri"), "request": body}
        )
        request, parent, collection = argument["request"], *_place(str(argument["url"]))
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise ValueError(f"{job.get('name')} does not submit a job: {error}") from None
    own = {name: value for name, value in request.get("labels", {}).items() if not is_provider_label(name)}
    request = {name: value for name, value in request.items() if name != "labels"}
    overlap = ((workflow or {}).get("labels") or {}).get(OVERLAP_LABEL)
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
        "own_directory": own_directory,
        **({"overlap": overlap} if overlap else {"overlap": "allow"} if "argument" not in body else {}),
    }


def owner_of(marks: Mapping[str, str]) -> str:
    """Return project/stack/resource of a declaration, as the header of its job has it."""
    return "/".join(ownership_label_value(marks.get(name, "")) for name in ("project", "stack", "resource"))


def _argument(
    spec: ScheduleSpec, name: str, request: Mapping[str, Any], labels: Mapping[str, str]
) -> dict[str, Any]:
    """Return what the workflow is given: the request, where to send it, and how live runs are found."""
    run = next((f'labels.{key}="{value}"' for key, value in labels.items() if key.endswith("-run")), "")
    prefix = "PIPELINE_STATE_" if spec.collection == "trainingPipelines" else "JOB_STATE_"
    states = _ENDED if spec.collection == "trainingPipelines" else _ENDED_JOBS
    live = " AND ".join([run, *(f'state!="{prefix}{state}"' for state in states)])
    return {
        "url": _jobs_url(spec),
        "service": _jobs_url(spec).partition("projects/")[0],
        "executions": f"https://workflowexecutions.googleapis.com/v1/{workflow_name(name)}/executions",
        "live": live,
        "request": request,
    }


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


def _look(spec: ScheduleSpec) -> Sequence[dict[str, Any]]:
    """Return the steps that look for other executions and live runs, and decide what to do about them.

    Of executions at the same time only the oldest goes on, and then looks for live runs. So each one sees the
    run of the execution before.
    """
    busy = {"skip": "skipped", "queue": "pause", "cancel": "stop"}[spec.overlap]
    later = {"skip": "second", "queue": "pause", "cancel": "pause"}[spec.overlap]
    is_oldest = f'${{text.match_regex(oldest, {_EXECUTION_ID} + "$")}}'
    found = f'${{default(map.get(found.body, "{spec.collection}"), [])}}'
    return [
        _get("turn", "${args.executions}", {"filter": 'state="ACTIVE"', "pageSize": 1000}, "others"),
        {"last": {"assign": [{"oldest": f"${{{_OLDEST}}}"}]}},
        {"first": {"switch": [{"condition": is_oldest, "next": "look"}], "next": later}},
        _get("look", "${args.url}", {"filter": "${args.live}", "pageSize": 100, "readMask": "name"}, "found"),
        {"count": {"assign": [{"live": found}]}},
        {"decide": {"switch": [{"condition": "${len(live) == 0}", "next": "submit"}], "next": busy}},
    ]


def _get(step: str, url: str, query: Mapping[str, Any], result: str) -> dict[str, Any]:
    """Return a step that reads a list, again after a transient error."""
    call = {"call": "http.get", "args": {"url": url, "query": query, "auth": _AUTH}, "result": result}
    return {step: {"try": call, "retry": "${http.default_retry}"}}


def _pause(seconds: int) -> dict[str, Any]:
    return {"pause": {"call": "sys.sleep", "args": {"seconds": seconds}, "next": "turn"}}


_STOP: Mapping[str, Any] = {
    "stop": {
        "for": {
            "value": "one",
            "in": "${live}",
            "steps": [
                {
                    "cancel": {
                        "try": {
                            "call": "http.post",
                            "args": {"url": '${args.service + one.name + ":cancel"}', "auth": _AUTH},
                        },
                        "except": {
                            "as": "error",
                            "steps": [
                                {
                                    "ended": {
                                        "switch": [
                                            {
                                                "condition": '${map.get(error, "code") == 400 or '
                                                'map.get(error, "code") == 404}',
                                                "next": "continue",
                                            }
                                        ]
                                    }
                                },
                                {"failed": {"raise": "${error}"}},
                            ],
                        },
                    }
                }
            ],
        }
    }
}


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
