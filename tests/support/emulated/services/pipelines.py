"""Datasets, training pipelines and models of a test, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.emulated.changes import until_true
from support.emulated.emulator import Answer, found_sandbox
from support.emulated.job_emulator import PARENT, JobEmulator, pool, running_jobs
from support.waiting import TIMEOUT

DEFINITION = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
METADATA = "gs://google-cloud-aiplatform/schema/dataset/metadata/"
SERVING = "us-docker.pkg.dev/vertex-ai/prediction/sklearn-cpu.1-3:latest"
BASE = "gs://work/out"
SAVE = """
import os
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/", 1)
os.makedirs(folder, exist_ok=True)
with open(folder + "model.bin", "w") as file:
    file.write("trained")
"""
ENDED = ("PIPELINE_STATE_SUCCEEDED", "PIPELINE_STATE_FAILED", "PIPELINE_STATE_CANCELLED")


def serving(name: str = "digits", **fields: Any) -> dict[str, Any]:
    """Return a model in the API's JSON."""
    return {"displayName": name, "containerSpec": {"imageUri": SERVING}, **fields}


def pipeline(
    code: str = "", *, name: str = "train", task: Mapping[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    """Return a training pipeline in the API's JSON whose job runs Python code."""
    inputs = {"workerPoolSpecs": [pool(code)], "baseOutputDirectory": {"outputUriPrefix": BASE}}
    return {
        "displayName": name,
        "trainingTaskDefinition": DEFINITION,
        "trainingTaskInputs": {**inputs, **(task or {})},
        **fields,
    }


class Pipelines:
    """Requests of a test to an emulator with the bucket `work`."""

    def __init__(self, emulator: Any) -> None:  # a `JobEmulator`, or another object with its `call`
        self.emulator = emulator
        body = {"name": "work", "location": "us-central1"}
        assert emulator.call("POST", "/storage/v1/b?project=local", body).status == 200

    @classmethod
    def again(cls, emulator: Any) -> Pipelines:
        """Return the requests to an emulator that has the bucket since an earlier start."""
        found = cls.__new__(cls)
        found.emulator = emulator
        return found

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        return self.emulator.call(method, path, body)

    def done(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request that succeeds. Return the answer's JSON."""
        return self.call(method, path, body).ok().json()

    def operation(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request that begins an operation. Return the finished operation."""
        operation = self.done(method, path, body)
        if not operation.get("done"):
            operation = self.done("POST", f"/v1/{operation['name']}:wait", {"timeout": "20s"})
        assert operation["done"]
        return operation

    def put(self, name: str, content: str | bytes) -> str:
        """Create an object. Return its address."""
        data = content.encode() if isinstance(content, str) else content
        self.call("POST", f"/upload/storage/v1/b/work/o?uploadType=media&name={name}", data).ok()
        return f"gs://work/{name}"

    def read(self, uri: str) -> bytes:
        name = uri.removeprefix("gs://work/").replace("/", "%2F")
        answer = self.call("GET", f"/storage/v1/b/work/o/{name}?alt=media")
        assert answer.status == 200, answer.body
        return answer.body

    def names(self, prefix: str) -> list[str]:
        """Return the names of the objects with this prefix."""
        found = self.done("GET", f"/storage/v1/b/work/o?prefix={prefix}")
        return [item["name"] for item in found.get("items", [])]

    def dataset(self, *uris: str, kind: str = "tabular", **fields: Any) -> str:
        """Create a dataset, a table if there are addresses. Return its name."""
        body: dict[str, Any] = {
            "displayName": "rows",
            "metadataSchemaUri": f"{METADATA}{kind}_1.0.0.yaml",
            **fields,
        }
        if uris:
            body["metadata"] = {"inputConfig": {"gcsSource": {"uri": list(uris)}}}
        return str(self.operation("POST", f"{PARENT}/datasets", body)["response"]["name"])

    def create(self, body: Mapping[str, Any]) -> str:
        """Create a pipeline. Return its name."""
        return str(self.done("POST", f"{PARENT}/trainingPipelines", body)["name"])

    def refused(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request that is rejected. Return its error."""
        answer = self.call(method, path, body)
        assert answer.status >= 400, answer.body
        error: dict[str, Any] = answer.json()["error"]
        return error

    def get(self, name: str) -> dict[str, Any]:
        return self.done("GET", f"/v1/{name}")

    def wait(self, name: str, *states: str, seconds: float = TIMEOUT) -> dict[str, Any]:
        """Wait until the pipeline is in one of the states (default: has ended). Return the pipeline."""
        found: dict[str, Any] = {}

        def reached() -> bool:
            found.update(self.get(name))
            return found["state"] in (states or ENDED)

        until_true(self.emulator.call, reached, seconds=seconds, what=lambda: str(found))
        return found

    def printed(self, found: Mapping[str, Any]) -> list[str]:
        """Return the lines that the chief of a pipeline's job printed."""
        return self.emulator.printed(found["trainingTaskMetadata"]["backingCustomJob"])

    def upload(self, body: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        """Upload a model. Return the response."""
        found = self.operation("POST", f"{PARENT}/models:upload", {"model": body, **fields})
        response: dict[str, Any] = found["response"]
        return response


@contextmanager
def emulating(data_dir: Path) -> Iterator[JobEmulator]:
    """Run an emulator for many tests, with the best sandbox of this machine."""
    with running_jobs(data_dir, sandbox=found_sandbox(), restart_seconds=0.0) as emulator:
        yield emulator


@contextmanager
def emptied(emulator: JobEmulator) -> Iterator[Pipelines]:
    """Yield the requests of one test; afterwards reset the emulator."""
    yield Pipelines(emulator)
    assert emulator.call("POST", "/_local/reset", {}).status == 200
