"""The declaration of a case, and the parts of requests that cases share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scripts.verify_google.budget import PENNIES
from scripts.verify_google.comparison import Allowed
from scripts.verify_google.prices import highest_cost, hourly_cost
from scripts.verify_google.recorder import Names, Recorder

Json = dict[str, Any]
Builder = Callable[[Names], Json]

MACHINE = "n1-standard-4"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-6:latest"
TIMEOUT = "300s"

_EXPECTED_SECONDS = 300
"""Seconds that a job's machines are likely to cost: some minutes of preparation, and a short program."""

VARIABLES = ("AIP_", "CLOUD_ML_", "MASTER_", "VERIFY_", "CLUSTER_SPEC", "TF_CONFIG", "RANK", "WORLD_SIZE")
"""Beginnings of the variables that are compared. All others stay in the replica."""

MARK = "verify-google:"

SHOW = f"""
import json, os, sys
names = {VARIABLES!r}
env = {{name: value for name, value in sorted(os.environ.items()) if name.startswith(names)}}
print({MARK!r} + json.dumps({{"argv": sys.argv[1:], "env": env}}), flush=True)
"""
"""A program that prints its arguments and variables in one line."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case: its steps, and what they cost.

    `rows` are features of the parity page, as "Section: feature". `jobs` build the requests of the jobs that
    run, and `refused` of those that the service should refuse: if it does, they cost nothing.
    `stores` is true for a case that stores data.
    """

    name: str
    about: str
    rows: tuple[str, ...]
    steps: Callable[[Recorder], None]
    jobs: tuple[Builder, ...] = ()
    refused: tuple[Builder, ...] = ()
    stores: bool = False
    allowed: tuple[Allowed, ...] = ()

    def highest_cost(self, location: str) -> float:
        """Return the dollars that must be left of the budget. Raises UnknownPriceError.

        Of the jobs that should be refused, the dearest one counts: they are sent one after the other.
        """
        names = Names(run="vtv-0000000000", case=self.name, location=location)
        refused = max((highest_cost(each(names), location) for each in self.refused), default=0.0)
        jobs = sum(highest_cost(each(names), location) for each in self.jobs)
        return jobs + refused + (PENNIES if self.stores else 0.0)

    def expected_cost(self, location: str) -> float:
        """Return the likely cost in dollars: what should be refused is, and programs end after seconds."""
        names = Names(run="vtv-0000000000", case=self.name, location=location)
        hourly = sum(hourly_cost(each(names), location) for each in self.jobs)
        return hourly * _EXPECTED_SECONDS / 3600


def pool(code: str = SHOW, *, replicas: int = 1, machine: str = MACHINE, **container: Any) -> Json:
    """Return a worker pool whose replicas run Python code."""
    return {
        "machineSpec": {"machineType": machine},
        "replicaCount": str(replicas),
        "containerSpec": {"imageUri": IMAGE, "command": ["python3", "-c", code], **container},
    }


def spec(*pools: Mapping[str, Any], timeout: str = TIMEOUT, **more: Any) -> Json:
    """Return a CustomJobSpec with a timeout and without retries, so that its cost has a limit."""
    scheduling = {"timeout": timeout, "disableRetries": True}
    return {"workerPoolSpecs": list(pools), "scheduling": scheduling, **more}


def custom_job(names: Names, *pools: Mapping[str, Any], suffix: str = "", **more: Any) -> Json:
    """Return a custom job in the API's JSON."""
    return {
        "displayName": names.display_name + suffix,
        "labels": names.labels,
        "jobSpec": spec(*pools, **more),
    }


def make_bucket(at: Recorder, *, step: str | None = None, location: str | None = None) -> str:
    """Create the bucket of a case. Return its name."""
    body = {
        "name": at.names.bucket,
        "location": location or at.names.location,
        "labels": at.names.labels,
        "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}},
        "softDeletePolicy": {"retentionDurationSeconds": "0"},
    }
    query = {"project": at.endpoint.project}
    reply = at.create("buckets", at.storage(), body, step=step, name=at.names.bucket, query=query)
    if not reply.is_success:
        raise at.unexpected("the creation of a bucket", reply)
    return at.names.bucket


def put(at: Recorder, name: str, content: bytes, *, step: str | None = None) -> None:
    """Write an object into the bucket of the case."""
    reply = at.call(
        "POST",
        at.storage(f"/{at.names.bucket}/o", upload=True),
        step=step,
        query={"uploadType": "media", "name": name},
        content=content,
        content_type="application/octet-stream",
    )
    if not reply.is_success:
        raise at.unexpected("an upload", reply)


def printed(at: Recorder, job: str, *, replicas: int = 1) -> dict[str, Json]:
    """Return what `SHOW` printed in each replica of a job, by the replicas' names.

    The entries of a log arrive after the job's state, in any order.
    """
    job_id = job.rpartition("/")[2]
    text = f'resource.type="ml_job" AND resource.labels.job_id="{job_id}"'

    def read() -> dict[str, Json]:
        found = {}
        for entry in entries(at, text):
            message = str(entry.get("jsonPayload", {}).get("message") or entry.get("textPayload", ""))
            _, mark, document = message.partition(MARK)
            if mark:
                task = entry.get("resource", {}).get("labels", {}).get("task_name", "")
                found[task] = readable(json.loads(document))
        return found if len(found) >= replicas else {}

    found: dict[str, Json] = at.eventually(read, f"the log of {replicas} replicas has not arrived")
    return found


def entries(at: Recorder, text: str) -> list[Json]:
    """Return the log entries that match a query, oldest first."""
    body = {
        "resourceNames": [f"projects/{at.endpoint.project}"],
        "filter": text,
        "orderBy": "timestamp asc",
        "pageSize": 1000,
    }
    reply = at.call("POST", f"{at.endpoint.logging_url}/v2/entries:list", body)
    if not reply.is_success:
        raise at.unexpected("the list of log entries", reply)
    return list(reply.body.get("entries", []))


def readable(shown: Json) -> Json:
    """Return the printed variables with the JSON in them parsed, and addresses by words."""
    env = dict(shown["env"])
    for name in ("CLUSTER_SPEC", "TF_CONFIG"):
        if name in env:
            found = json.loads(env[name])
            for pool_name, hosts in found.get("cluster", {}).items():
                found["cluster"][pool_name] = ["HOST:PORT" for _ in hosts]
            if "cloud" in found.get("task", {}):
                found["task"]["cloud"] = "ID"
            env[name] = found
    env.update({name: word for name, word in _ADDRESSES.items() if name in env})
    return {"argv": shown["argv"], "env": env}


_ADDRESSES = {"MASTER_ADDR": "HOST", "MASTER_PORT": "PORT"}
