"""Questions about Vertex AI that no document answers: a small job for each, and what became of it.

Both sides are asked, and the report has both answers. They are not compared: a different answer is what the
question is for. A job is submitted without Pulumi, so a refusal is an answer, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud import rest as http
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.prices.price_file import current_prices
from pulumi_vertex_training.costs.declared import cost_at_most
from scripts.verify_google.budget import PREPARATION_SECONDS
from scripts.verify_google.rest import Json, Rest, has_ended
from scripts.verify_google.sanitising import Sanitiser
from scripts.verify_google.stacks import Side, StackError
from vertex_training.fields import timestamps
from vertex_training.job import job_spec

PROGRAM = Path(__file__).with_name("program.py")
IMAGE = "{}-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, and the job that answers it: its timeout, machine, number of replicas and variables."""

    name: str
    asks: str
    timeout: str
    scheduling: Json = field(default_factory=lambda: {"disableRetries": True})
    machine: Json = field(default_factory=lambda: {"machineType": "n1-standard-4"})
    replicas: int = 1
    variables: Json = field(default_factory=dict)
    image: str = IMAGE.format("us")


QUESTIONS = (
    Question(
        name="timeout", asks="state, code and words of a job that reaches its timeout of 60 s", timeout="60s"
    ),
    Question(
        name="wait",
        asks="state, code and words of FLEX_START after a max_wait_duration of 60 s (needs quota for an L4)",
        timeout="60s",
        scheduling={"strategy": "FLEX_START", "maxWaitDuration": "60s"},
        machine={"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1},
    ),
    Question(
        name="variable",
        asks="whose value AIP_CHECKPOINT_DIR has, if the program's variables name it too",
        timeout="300s",
        variables={"AIP_CHECKPOINT_DIR": "gs://of-the-program/"},
    ),
    Question(
        name="rewrite",
        asks="the mount of /gcs, and the sizes that each replica sees of an object which the chief rewrites",
        timeout="600s",
        replicas=2,
    ),
    Question(
        name="cancel",
        asks="seconds between SIGTERM and SIGKILL at a cancellation (files after-sigterm-*)",
        timeout="900s",
    ),
    Question(
        name="restart",
        asks="whether a timeout of 60 s spans the restart after a SIGABRT (20 s after the first start)",
        timeout="60s",
        scheduling={},
    ),
    Question(
        name="image",
        asks="whether an image of another continent runs",
        timeout="300s",
        image=IMAGE.format("europe"),
    ),
)


def job_of(question: Question, *, run: str, bucket: str) -> Json:
    """Return the request of a question's job. Its label is that by which a run's jobs are deleted."""
    variables = {
        **question.variables,
        "VERIFY_QUESTION": question.name,
        "VERIFY_FOLDER": f"/gcs/{bucket}/questions/{question.name}",
    }
    pool = {
        "machineSpec": question.machine,
        "replicaCount": "1",
        "containerSpec": {
            "imageUri": question.image,
            "command": ["python3", "-c", PROGRAM.read_text()],
            "env": [{"name": name, "value": value} for name, value in variables.items()],
        },
    }
    return {
        "displayName": f"question-{question.name}",
        "labels": {"pulumi-stack": run},
        "jobSpec": {
            "workerPoolSpecs": [pool] * question.replicas,
            "scheduling": {"timeout": question.timeout, **question.scheduling},
            "baseOutputDirectory": {"outputUriPrefix": f"gs://{bucket}/questions/{question.name}-output/"},
        },
    }


def cost_of(location: str) -> float:
    """Return the highest cost of all questions. Raises StackError if a price is not known."""
    total = 0.0
    for question in QUESTIONS:
        wire = job_of(question, run="run", bucket="bucket")["jobSpec"]
        spec = job_spec.normalise(job_spec.from_wire(wire))
        cost = cost_at_most(spec, region=location, table=current_prices())
        if cost is None or cost.per_timeout is None or cost.hourly is None:
            raise StackError(f"the cost of the question {question.name} has no known limit in {location}")
        total += cost.per_timeout + cost.hourly * PREPARATION_SECONDS / 3600
    return total


def ask(side: Side, bucket: str) -> dict[str, Any]:
    """Submit all jobs, wait until they have ended, and return what became of each. Raises CloudError."""
    rest = Rest(endpoint=side.endpoint)
    clean = Sanitiser(project=side.endpoint.project, run=side.run)
    answers: dict[str, Any] = {}
    live: dict[str, str] = {}
    for question in QUESTIONS:
        try:
            live[question.name] = _submitted(rest, job_of(question, run=side.run, bucket=bucket))
        except CloudError as error:
            answers[question.name] = {"refused": str(error)}
    if job := live.get("cancel"):
        ready = "questions/cancel/ready"
        found = rest.until(job, lambda record: has_ended(record) or any(rest.documents(bucket, ready)))
        if not has_ended(found):
            rest.call("POST", rest.url(f"{job}:cancel"))
    for name, job in live.items():
        record = rest.until(job)
        answers[name] = {**_end(record), "files": dict(rest.documents(bucket, f"questions/{name}/"))}
    return {question.name: clean.document(answers[question.name]) for question in QUESTIONS}


def _submitted(rest: Rest, request: Json) -> str:
    endpoint = rest.endpoint
    address = f"{endpoint.vertex_url}/v1/{endpoint.parent}/customJobs"
    made = http.create(
        endpoint, address, action=f"submit {request['displayName']}", body=request, if_lost="Run it again."
    )
    return str(made["name"])


def _end(record: Json) -> Json:
    """Return how a job ended, and for how many seconds it ran: None if it never started."""
    start, end = record.get("startTime"), record.get("endTime")
    ran = None
    if start and end:
        ran = round((timestamps.parse(end) - timestamps.parse(start)).total_seconds())
    return {"state": record.get("state"), "error": record.get("error"), "ran_seconds": ran}
