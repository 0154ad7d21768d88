"""The lock files: complete, with hashes, without an address, and consistent."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from scripts.setup import lock_files
from scripts.setup.python_packages import DEVELOPMENT_LOCK, RUNTIME_LOCK

LOCKS = (RUNTIME_LOCK, DEVELOPMENT_LOCK)


def canonical(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


@pytest.mark.parametrize("name", LOCKS)
def test_no_download_address_is_named(root: Path, name: str) -> None:
    text = (root / name).read_text()
    assert "://" not in text
    assert " @ " not in text
    assert not re.search(r"^\s*(-i|-f|-c|-r|-e|--(index|extra-index|find|trusted)\S*)\b", text, re.MULTILINE)


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_has_a_version_and_hashes(root: Path, name: str) -> None:
    text = (root / name).read_text()
    pins = lock_files.pins(text)
    assert len(pins) > 50
    for pin, hashes in pins.items():
        assert re.fullmatch(r"[a-z0-9-]+==[^\s;]+( ; .+)?", pin), pin
        assert re.fullmatch(r"(--hash=sha256:[0-9a-f]{64} )+", hashes), pin


def test_requirements_of_a_deployment_are_the_same_in_both(root: Path) -> None:
    runtime, development = ((root / name).read_text() for name in LOCKS)
    assert list(lock_files.disagreements(runtime, development)) == []


@pytest.mark.parametrize("name", LOCKS)
def test_all_requirements_of_the_distributions_are_locked(root: Path, name: str) -> None:
    own = ("vertex-cluster", "vertex-training", "vertex-emulator", "pulumi-vertex-training")
    wanted = {canonical(each) for distribution in own for each in metadata.requires(distribution) or []}
    assert len(wanted) > 20
    assert wanted - {*own} <= {canonical(pin) for pin in lock_files.pins((root / name).read_text())}


ONE = "one==1.0 \\\n    --hash=sha256:aa\n    # via x\n"


@pytest.mark.parametrize(
    ("development", "messages"),
    [
        (ONE, []),
        (ONE.replace("one==1.0", "one==1.0 ; python_version > '3.11'"), []),
        (ONE.replace("1.0", "1.1"), ["one==1.0 is in requirements.txt only"]),
        (ONE.replace("aa", "bb"), ["one==1.0 has other hashes in requirements-dev.txt"]),
        ("", ["one==1.0 is in requirements.txt only"]),
    ],
)
def test_a_disagreement_is_reported(development: str, messages: list[str]) -> None:
    assert list(lock_files.disagreements(ONE, development)) == messages
