"""Documents whose values cost more than their bytes, and errors that would be longer than the document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.emulated.emulator import ask, running
from support.emulated.job_emulator import PARENT
from support.measured.growth import is_linear
from support.tables import every_row
from vertex_emulator.server.http.messages import MOST_VALUES, Body, HttpError, parse_json
from vertex_emulator.server.rpc.payload import MOST_PROBLEMS


@every_row(
    "data",
    [
        b'{"a": [' + b"1," * MOST_VALUES + b"1]}",
        b"[" * MOST_VALUES,
        b"[" + b"{}," * MOST_VALUES + b"{}]",
        b'"' + b'\\"' * 10 + b'"' + b"," * MOST_VALUES,
    ],
)
def test_values_are_counted_before_they_are_parsed(data: bytes) -> None:
    with pytest.raises(HttpError) as refused:
        Body(data).json()
    assert refused.value.status == 413
    assert refused.value.message == (
        "The request has more than 100000 values, the limit for one document. Send smaller requests."
    )


def test_text_is_not_counted() -> None:
    text = ',[{"\\' * MOST_VALUES
    assert parse_json(json.dumps([text]).encode()) == [text]


def test_counting_takes_linear_time() -> None:
    assert is_linear(lambda size: _refused(b'"\\' * size + b"," * 200_000), size=50_000)
    assert is_linear(lambda size: _refused(b"\\" * size + b'"' + b"," * 200_000), size=50_000)


def _refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        parse_json(data)


def test_an_error_names_the_first_problems(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        body = {f"k{number}": 1 for number in range(MOST_VALUES // 2)}
        answer = ask(daemon, "POST", f"{PARENT}/customJobs", body)
        assert answer.status == 400 and 'Unknown name "k99"' in answer.message
        assert answer.message.endswith("There are more problems. These are the first 100.")
        assert len(answer.message.splitlines()) == MOST_PROBLEMS + 1
