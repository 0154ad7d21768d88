"""Recorded answers have nothing of an account; what has is found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.verify_google.sanitising import Sanitiser, secrets_in
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


SECRETS = {
    "an e-mail address": "me@example.com",
    "a token or key": "ya29.a0AfB_byC",
    "a private key": "-----BEGIN PRIVATE KEY-----",
    "an IP address": "10.0.0.1",
    "the id of a run": RUN,
    "a number that may identify a project or a resource": "123456789012",
    "an authorization header": "Authorization: Bearer abcdefghijkl",
    "a secret path of the emulator": "http://h/s/0123456789abcdef",
    "the name of a project": "projects/other-project/locations/l",
    "a word of the account": "in my-project now",
}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("place", ["value", "key", "nested"])
def test_a_planted_secret_is_found(kind: str, place: str) -> None:
    text = SECRETS[kind]
    document: Any = {"value": {"a": text}, "key": {text: 1}, "nested": {"a": [{"b": [text]}]}}[place]
    found = secrets_in(document, words=("my-project",))
    assert kind in {each.kind for each in found}
    assert all(text not in each.kind for each in found)


def test_a_clean_document_has_none() -> None:
    clean = {"name": "projects/NUMBER/locations/us-central1/customJobs/ID", "n": 100, "at": "TIME"}
    assert secrets_in(clean, words=("my-project",)) == []


@given(
    st.recursive(
        st.sampled_from([*SECRETS.values(), "plain", 123456789012, 7, None, True]),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
        ),
        max_leaves=8,
    )
)
def test_what_was_sanitised_has_no_secret_but_those_that_stop_a_recording(document: Any) -> None:
    """Replace no other projects, keys and headers: they are a surprise, and nothing is written."""
    kept = {
        "the name of a project",
        "a private key",
        "an authorization header",
        "a secret path of the emulator",
    }
    found = secrets_in(SANITISER.document(document), words=("my-project",))
    assert {each.kind for each in found} <= kept
