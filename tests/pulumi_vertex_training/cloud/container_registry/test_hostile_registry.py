"""A registry that sends far more than it should: the client reads no more than a bound, and says so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest

from support.measured.memory import run_measured

SIZE = 256 << 20
ENOUGH = 64 << 20
"""Bytes that a client may take of an answer: the largest bound and the buffers of sockets, several times."""

TESTS = Path(__file__).parents[3]


@dataclass(frozen=True, kw_only=True)
class Read:
    """The report of the client, and the bytes that the registry sent of each answer."""

    errors: Mapping[str, str]
    mib: int
    left: bool
    sent: Mapping[str, int]


@pytest.fixture(scope="module")
def read() -> Read:
    command = [sys.executable, "-m", "support.registries.hostile_registry", str(SIZE)]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as registry:
        try:
            assert registry.stdout is not None
            host = f"127.0.0.1:{registry.stdout.readline().strip()}"
            command = [sys.executable, "-m", "support.client.registries.registry_reader", host]
            done = run_measured(command, folder=TESTS)
            with urlopen(f"http://{host}/sent") as answer:
                sent = json.load(answer)
        finally:
            registry.kill()
    found = json.loads(done.out)
    return Read(errors=found["errors"], mib=done.mib, left=found["left"], sent=sent)


def test_no_answer_is_read_to_its_end(read: Read) -> None:
    assert {answer: sent for answer, sent in read.sent.items() if sent > ENOUGH} == {}
    assert set(read.sent) == {
        *("manifest", "config", "layer", "tags", "token", "redirect", "refusal", "unbounded"),
    }


def test_memory_stays_bounded(read: Read) -> None:
    assert read.mib < 200


def test_each_message_has_the_reason(read: Read) -> None:
    for answer in ("manifest", "config", "layer", "tags", "unbounded"):
        assert read.errors[answer].startswith("UnexpectedAnswer: Could not "), answer
        assert "because the answer has more than " in read.errors[answer], answer
    assert "Content-Encoding 'gzip', which was not asked for" in read.errors["compressed"]
    assert read.errors["token"].startswith("Unauthenticated: ")
    assert read.errors["refusal"].startswith("PermissionDenied: ")


def test_a_redirect_is_followed_without_its_body(read: Read) -> None:
    assert read.errors["redirect"] == ""


def test_no_part_of_a_larger_blob_stays(read: Read) -> None:
    assert not read.left
