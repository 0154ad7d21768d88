"""Compared answers have nothing of an account."""

from __future__ import annotations

import pytest

from scripts.verify_google.sanitising import Sanitiser
from support.tables import every_row

RUN = "vtv-a1b2c3d4e5"
SANITISER = Sanitiser(project="my-project", run=RUN)


@every_row(
    ("text", "expected"),
    [
        pytest.param(
            "projects/my-project/locations/us-central1", "projects/PROJECT/locations/us-central1", id="id"
        ),
        pytest.param("projects/123456789012/x", "projects/NUMBER/x", id="number"),
        pytest.param("my-project2 and not-my-project", "my-project2 and not-my-project", id="other words"),
        pytest.param(f"my-project-digits-{RUN}-train", "PROJECT-digits-RUN-train", id="bucket"),
        pytest.param("0a1b2c3d4e5f6071-89abcdef", "HASH", id="key"),
        pytest.param(f"train@sha256:{'ab' * 32}", "train@DIGEST", id="digest"),
        pytest.param(
            "projects/1/locations/l/customJobs/2970106362064797696",
            "projects/NUMBER/locations/l/customJobs/ID",
            id="job",
        ),
        pytest.param("service-123456789012@gcp-sa-aiplatform.iam.gserviceaccount.com", "EMAIL", id="account"),
        pytest.param("at 2021-02-27T17:31:04.494716Z", "at TIME", id="time"),
        pytest.param("Bearer ya29.a0Af_B-x.y", "Bearer TOKEN", id="token"),
        pytest.param("10.128.0.3:2222", "IP:2222", id="ip 4"),
        pytest.param("[2600:1900:4000:af:0:1:2:3]", "[IP]", id="ip 6"),
        pytest.param("sklearn-cpu.1-6.py310", "sklearn-cpu.1-6.py310", id="version"),
        pytest.param(f"gs://{RUN}-models/model", "gs://RUN-models/model", id="run"),
        pytest.param("https://storage.googleapis.com/storage/v1/b/x", "ADDRESS/storage/v1/b/x", id="address"),
        pytest.param("http://127.0.0.1:4711/storage/v1/b/x", "ADDRESS/storage/v1/b/x", id="emulator"),
        pytest.param(
            "see https://console.cloud.google.com/logs?project=1&x=%22a%22 now", "see CONSOLE now", id="logs"
        ),
        pytest.param(
            "cmle-training-workerpool0-0a1b2c3d4e-0:2222", "cmle-training-workerpool0-HEX-0:2222", id="host"
        ),
        pytest.param("projectNumber 123456789012", "projectNumber NUMBER", id="bare number"),
        pytest.param("generation 1732361234567890", "generation ID", id="bare id"),
        pytest.param("0.6931471805599453", "0.6931471805599453", id="fraction"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert SANITISER.text(text) == expected


def test_documents() -> None:
    raw = {
        "etag": "CAE=",
        "projects/my-project": {"size": 5, "projectNumber": 123456789012},
        "list": ["my-project", True, None, 1.5],
    }
    assert SANITISER.document(raw) == {
        "etag": "ETAG",
        "projects/PROJECT": {"size": 5, "projectNumber": "NUMBER"},
        "list": ["PROJECT", True, None, 1.5],
    }


def test_it_changes_nothing_twice() -> None:
    raw = {"a": [f"projects/my-project/{RUN}", "10.0.0.1 a@b.example ya29.x 2021-02-27T17:31:04Z"]}
    once = SANITISER.document(raw)
    assert SANITISER.document(once) == once
