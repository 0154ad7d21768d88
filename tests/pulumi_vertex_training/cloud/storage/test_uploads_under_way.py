"""Uploads that a killed deployment has begun are waited for: their versions show when they are done."""

from __future__ import annotations

from typing import Any

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.model import gateway as models
from support.scripted_service import Answer, Service, refusal

NAME = "projects/local/locations/us-central1/models/digits"
UPLOAD = "type.googleapis.com/google.cloud.aiplatform.v1.UploadModelOperationMetadata"
EXPORT = "type.googleapis.com/google.cloud.aiplatform.v1.ExportModelOperationMetadata"


def operation(kind: str = UPLOAD, **more: Any) -> dict[str, Any]:
    return {"name": f"{NAME}/operations/1", "metadata": {"@type": kind}, **more}


def listed(*operations: dict[str, Any]) -> Answer:
    return Answer(document={"operations": list(operations)})


ASKED_FOR = [f"/v1/{NAME}/operations"]
WAITED_FOR = [*ASKED_FOR, f"/v1/{NAME}/operations/1"]


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        pytest.param([listed()], ASKED_FOR, id="none"),
        pytest.param([listed(operation(done=True))], ASKED_FOR, id="one that is done"),
        pytest.param([listed(operation(EXPORT))], ASKED_FOR, id="an export"),
        pytest.param([refusal(404, "NOT_FOUND", "no such model")], ASKED_FOR, id="no such model"),
        pytest.param([refusal(403, "PERMISSION_DENIED", "not yours")], ASKED_FOR, id="it may not be asked"),
        pytest.param(
            [listed(operation()), Answer(document=operation(done=True, response={}))],
            WAITED_FOR,
            id="one that goes on",
        ),
        pytest.param(
            [
                listed(operation()),
                Answer(document=operation(done=True, error={"code": 9, "message": "no files"})),
            ],
            WAITED_FOR,
            id="one that fails",
        ),
    ],
)
def test_what_is_asked(service: Service, endpoint: Endpoint, answers: list[Answer], asked: list[str]) -> None:
    service.script(*answers)
    models.wait_for_uploads(endpoint, NAME)
    assert [one.path for one in service.asked] == asked
