"""The emulator agrees with the recorded answers of Google Cloud (docs/architecture/verify-google.md).

`make verify-google ARGS=--record` writes them into the folder `google`, beside this file. Until then, a
recording of the emulator itself shows that the tests find a difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google import recording
from scripts.verify_google.sanitising import secrets_in
from support.client.verify.replay import problems, replayed
from support.emulated.emulator import running

CASES = ("missing", "buckets", "refused-pools")


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Yield an emulator with another project than that of a recording."""
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        yield Endpoint(
            kind="emulator",
            project="another-project",
            location="us-central1",
            url=daemon.url,
            token=daemon.token,
        )


@pytest.fixture(scope="module")
def made(emulator: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of an emulator, as one of Google Cloud would be."""
    path = tmp_path_factory.mktemp("recording") / "answers.json"
    empty = {name: {"recorded": "2026-01-01", "answers": []} for name in CASES}
    path.write_text(json.dumps({"format": 1, "location": "us-central1", "cases": empty}))
    results = {each.case: each.emulator for each in replayed(path, emulator)}
    document = recording.document(results, location="us-central1", day="2026-01-01")
    recording.write(path, document, words=(emulator.project,))
    return path


def recordings(made: Path) -> list[Path]:
    """Return a recording of the emulator, and those of Google Cloud as soon as there are any."""
    return [made, *sorted(recording.RECORDED.glob("*.json"))]


def test_the_emulator_agrees_with_every_recording(made: Path, emulator: Endpoint) -> None:
    assert {each.case for each in replayed(made, emulator)} == set(CASES)
    for path in recordings(made):
        assert problems(replayed(path, emulator)) == [], path


def test_recordings_have_nothing_of_an_account(made: Path) -> None:
    for path in recordings(made):
        assert not secrets_in(json.loads(path.read_text())), path


def test_a_recording_of_other_answers_is_a_problem(made: Path, emulator: Endpoint, tmp_path: Path) -> None:
    document = json.loads(made.read_text())
    answer = document["cases"]["refused-pools"]["answers"][0]
    answer["body"]["error"]["message"] = "Two chiefs."
    del document["cases"]["buckets"]["answers"][0]["body"]["locationType"]
    other = tmp_path / "answers.json"
    other.write_text(json.dumps(document))
    found = problems(replayed(other, emulator))
    assert [each.partition(":")[0] for each in found] == [
        f"refused-pools, {answer['step']}, error.message",
        "buckets, create, locationType",
    ]


@pytest.mark.parametrize("secret", ["me@example.com", "projects/my-project/x", "10.0.0.1", "ya29.abcdef"])
def test_a_recording_with_a_secret_is_not_written(made: Path, tmp_path: Path, secret: str) -> None:
    document = json.loads(made.read_text())
    document["cases"]["buckets"]["answers"][0]["body"]["owner"] = secret
    path = tmp_path / "google" / "answers.json"
    with pytest.raises(recording.RecordingError, match=r"cases\.buckets\.answers\[0\]\.body\.owner") as error:
        recording.write(path, document)
    assert secret not in str(error.value)
    assert not path.exists()
    path.parent.mkdir()
    path.write_text(json.dumps(document))
    assert secrets_in(json.loads(path.read_text()))


def test_a_later_recording_keeps_the_other_cases(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(made.read_text())
    results = recording.read(made)
    document = recording.document({"missing": results["missing"]}, location="us-central1", day="2026-02-02")
    recording.write(path, document)
    written = json.loads(path.read_text())["cases"]
    assert {name: one["recorded"] for name, one in written.items()} == {
        "missing": "2026-02-02",
        "buckets": "2026-01-01",
        "refused-pools": "2026-01-01",
    }
