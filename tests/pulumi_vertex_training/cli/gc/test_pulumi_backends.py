"""Reading Pulumi's backends: stacks, their past, and failures."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.gc import pulumi_backends
from pulumi_vertex_training.cli.gc.candidates import KnownStack
from pulumi_vertex_training.cli.gc.pulumi_backends import Ran
from pulumi_vertex_training.cli.gc.stack_state import NOTHING, StackName
from support.client.specs.known_stacks import resource
from support.waiting import TIMEOUT
from vertex_training.command_line.errors import CommandError

CLOUD = "https://api.pulumi.com"
ONE, TWO, THREE = "1" * 16, "2" * 16, "3" * 16


def resources(*identities: str) -> list[dict[str, Any]]:
    return [resource("CustomJob", identity, __run={"key": f"{identity}-1"}) for identity in identities]


def exported(*identities: str) -> str:
    return json.dumps({"version": 3, "deployment": {"resources": resources(*identities)}})


@dataclass
class Pulumi:
    """Stands in for the command: answers by its words, in one line."""

    answers: Mapping[str, str | Ran]
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    def __call__(self, words: Sequence[str], backend: str | None) -> Ran:
        self.asked.append((" ".join(words), backend))
        answer = self.answers.get(" ".join(words), Ran(code=1, out="", err="error: no such thing"))
        return answer if isinstance(answer, Ran) else Ran(code=0, out=answer, err="")


STACKS = json.dumps([{"name": "acme/digits/prod"}, {"name": "acme/flowers/prod"}])
LISTED = {
    "stack ls --all --json": STACKS,
    "stack export --stack acme/digits/prod": exported(ONE),
    "stack export --stack acme/flowers/prod": exported(),
}


def test_every_stack_of_a_backend_is_read() -> None:
    found = pulumi_backends.read_stacks(CLOUD, Pulumi(LISTED))
    assert [stack.name.reference for stack in found] == ["acme/digits/prod", "acme/flowers/prod"]
    assert [stack.now and stack.now.runs for stack in found] == [{ONE}, set()]


def test_the_cloud_and_lock_files_report_running_deployments(tmp_path: Path) -> None:
    names = ["acme/digits/prod", "acme/flowers/prod"]
    listed = json.dumps(
        [{"name": name, "updateInProgress": on} for name, on in zip(names, (True, False), strict=True)]
    )
    answers = {**LISTED, "stack ls --all --json": listed}
    cloud = pulumi_backends.read_stacks(CLOUD, Pulumi(answers))
    assert [stack.is_deployed_now for stack in cloud] == [True, False]
    with_past = pulumi_backends.with_history(cloud, CLOUD, lambda _: True, Pulumi(LISTED))
    assert [stack.is_deployed_now for stack in with_past] == [True, False]

    backend = f"file://{tmp_path}"
    lock = tmp_path / ".pulumi" / "locks" / "organization" / "digits" / "prod" / "0.json"
    lock.parent.mkdir(parents=True)
    lock.write_text("{}")
    local = pulumi_backends.read_stacks(backend, Pulumi(LISTED))
    assert [stack.is_deployed_now for stack in local] == [True, False]
    with_past = pulumi_backends.with_history(local, backend, lambda _: True, Pulumi({}))
    assert [stack.is_deployed_now for stack in with_past] == [True, False]

    others = pulumi_backends.read_stacks("s3://bucket", Pulumi(LISTED))
    assert [stack.is_deployed_now for stack in others] == [None, None]


@pytest.mark.parametrize(
    ("words", "answer", "message"),
    [
        pytest.param("stack ls --all --json", None, "error: no such thing", id="no list"),
        pytest.param("stack ls --all --json", "{}", "did not print a list", id="another list"),
        pytest.param("stack export --stack acme/flowers/prod", None, "no such thing", id="no export"),
        pytest.param("stack export --stack acme/flowers/prod", "half", "did not print JSON", id="no JSON"),
        pytest.param(
            "stack export --stack acme/flowers/prod", "[]", "It might have any of the jobs", id="no state"
        ),
    ],
)
def test_what_cannot_be_read_ends_it(words: str, answer: str | None, message: str) -> None:
    answers: dict[str, Any] = {**LISTED, words: answer}
    if answer is None:
        del answers[words]
    with pytest.raises(CommandError, match=message) as refused:
        pulumi_backends.read_stacks(CLOUD, Pulumi(answers))
    assert "othing was deleted" in str(refused.value)


def test_the_past_of_a_stack_in_the_cloud_is_in_its_versions() -> None:
    pulumi = Pulumi(
        {
            **LISTED,
            "stack history --stack acme/digits/prod --json": json.dumps([{"version": 2}, {"version": 1}]),
            "stack export --stack acme/digits/prod --version 2": exported(ONE, TWO),
            "stack export --stack acme/digits/prod --version 1": exported(THREE),
        }
    )
    stacks = pulumi_backends.read_stacks(CLOUD, pulumi)
    digits, flowers = pulumi_backends.with_history(
        stacks, CLOUD, lambda name: name.project == "digits", pulumi
    )
    assert (digits.past.runs, digits.has_history) == ({ONE, TWO, THREE}, True)
    assert (flowers.past, flowers.has_history) == (NOTHING, False)
    assert not any("history" in words and "flowers" in words for words, _ in pulumi.asked)


def test_a_past_that_cannot_be_read_proves_nothing() -> None:
    pulumi = Pulumi(LISTED)
    stacks = pulumi_backends.read_stacks(CLOUD, pulumi)
    found = list(pulumi_backends.with_history(stacks, CLOUD, lambda _: True, pulumi))
    assert [(stack.past, stack.has_history) for stack in found] == [(NOTHING, False)] * 2


def test_other_backends_have_no_past() -> None:
    stacks = pulumi_backends.read_stacks("s3://bucket", Pulumi(LISTED))
    assert pulumi_backends.with_history(stacks, "s3://bucket", lambda _: True, Pulumi({})) == stacks


def test_the_backend_is_the_one_that_pulumi_uses() -> None:
    pulumi = Pulumi({"whoami --verbose --json": json.dumps({"user": "me", "url": CLOUD})})
    assert pulumi_backends.backend_urls([], pulumi) == [CLOUD]
    assert pulumi.asked == [("whoami --verbose --json", None)]


def test_backends_that_are_named_are_read_once_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    urls = pulumi_backends.backend_urls(
        [CLOUD, "file://state", f"file://{tmp_path}/state", CLOUD], Pulumi({})
    )
    assert urls == [CLOUD, f"file://{tmp_path}/state"]


def test_a_backend_that_is_not_known_has_to_be_named() -> None:
    with pytest.raises(CommandError, match="--backend URL"):
        pulumi_backends.backend_urls([], Pulumi({"whoami --verbose --json": "{}"}))


# File backends.


def nanoseconds(second: int) -> int:
    return int(datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc).timestamp()) * 10**9


def write(file: Path, *identities: str, second: int = 0) -> None:
    """Write a checkpoint with this second in its manifest."""
    file.parent.mkdir(parents=True, exist_ok=True)
    latest = {"manifest": {"time": f"2026-01-01T00:00:{second:02}.5Z"}, "resources": resources(*identities)}
    text = json.dumps({"version": 3, "checkpoint": {"stack": "s", "latest": latest}}).encode()
    file.write_bytes(gzip.compress(text) if ".gz" in file.name else text)


def history(root: Path, *identities: str, second: int, ending: str = "json") -> None:
    name = f"prod-{nanoseconds(second)}.checkpoint.{ending}"
    write(root / "history" / "digits" / "prod" / name, *identities, second=second)


def backup(root: Path, *identities: str, second: int) -> None:
    name = f"prod.{nanoseconds(second)}.json"
    write(root / "backups" / "digits" / "prod" / name, *identities, second=second)


def before(root: Path, *identities: str, second: int) -> None:
    """Write the state before the last change."""
    write(root / "stacks" / "digits" / "prod.json.bak", *identities, second=second)


def with_history(root: Path, *, exists: bool = True) -> dict[str, KnownStack]:
    name = StackName(backend="file:///a", project="digits", stack="prod", organization="organization")
    stacks = [KnownStack(name=name, now=NOTHING, past=NOTHING, has_history=False)] if exists else []
    return {one.name.stack: one for one in pulumi_backends.with_past(stacks, "file:///a", root)}


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_the_history_of_a_stack_is_its_past(tmp_path: Path, ending: str) -> None:
    history(tmp_path, ONE, second=1, ending=ending)
    history(tmp_path, TWO, second=2, ending=ending)
    found = with_history(tmp_path)
    assert found["prod"].past.runs == {ONE, TWO}
    assert found["prod"].has_history


def test_so_is_the_state_before_the_last_change(tmp_path: Path) -> None:
    history(tmp_path, second=1)
    before(tmp_path, ONE, second=2)
    assert with_history(tmp_path)["prod"].past.runs == {ONE}


def test_but_not_one_of_an_earlier_stack_of_the_name(tmp_path: Path) -> None:
    before(tmp_path, ONE, second=1)
    backup(tmp_path, TWO, second=1)
    history(tmp_path, THREE, second=2)
    found = with_history(tmp_path)
    assert found["prod"].past.runs == {THREE}
    earlier = found["prod (before it was removed)"]
    assert (earlier.now, earlier.past.runs) == (None, {ONE, TWO})


def test_without_a_history_nothing_is_the_past_of_a_stack_that_exists(tmp_path: Path) -> None:
    before(tmp_path, ONE, second=1)
    assert with_history(tmp_path)["prod"].past == NOTHING


def test_what_a_removed_stack_left(tmp_path: Path) -> None:
    before(tmp_path, ONE, second=2)
    backup(tmp_path, TWO, second=1)
    (removed,) = with_history(tmp_path, exists=False).values()
    assert (removed.now, removed.past.runs, removed.name.stack) == (None, {ONE, TWO}, "prod")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"checkpoint": 3}', b"\x1f\x8bhalf"])
def test_a_partial_checkpoint_is_ignored(tmp_path: Path, text: bytes) -> None:
    history(tmp_path, ONE, second=1)
    (tmp_path / "history" / "digits" / "prod" / f"prod-{nanoseconds(2)}.checkpoint.json").write_bytes(text)
    assert with_history(tmp_path)["prod"].past.runs == {ONE}


def test_an_empty_folder_has_no_past(tmp_path: Path) -> None:
    assert with_history(tmp_path)["prod"].past == NOTHING


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("file:///var/state", "/var/state/.pulumi"),
        ("file://~", f"{Path.home().resolve()}/.pulumi"),
        ("file:///var/state?no_tmp_dir=true", "/var/state/.pulumi"),
        ("file:///var/100%25?metadata=skip", "/var/100%/.pulumi"),
        (CLOUD, None),
        ("s3://bucket/a", None),
    ],
)
def test_the_folder_of_a_backend(url: str, folder: str | None) -> None:
    found = pulumi_backends.folder(url)
    assert (None if found is None else str(found)) == folder


def test_the_command_runs_outside_of_any_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "pulumi"
    fake.write_text('#!/bin/sh\npwd; echo "$PULUMI_BACKEND_URL $PULUMI_STACK."; echo "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PULUMI_STACK", "prod")
    folder, environment, words = pulumi_backends.pulumi(
        ["stack", "ls"], CLOUD, timeout=TIMEOUT
    ).out.splitlines()
    assert not re.match(re.escape(str(Path.cwd())), folder)
    assert (environment, words) == (f"{CLOUD} .", "stack ls --non-interactive")


def test_without_pulumi_on_path_the_message_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="`pulumi` is not on PATH"):
        pulumi_backends.pulumi(["whoami"], None, timeout=TIMEOUT)
