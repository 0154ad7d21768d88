"""The recorded answers of Google Cloud: written after a scan for secrets, and read by our tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.verify_google.comparison import Answer, CaseResult
from scripts.verify_google.sanitising import secrets_in

Json = dict[str, Any]

RECORDED = Path(__file__).resolve().parents[2] / "tests" / "parity" / "google"
"""Recorded answers that the tests compare the emulator with."""

_FORMAT = 1


class RecordingError(Exception):
    """Answers cannot be recorded or read; the text has the reason."""


def document(results: Mapping[str, CaseResult], *, location: str, day: str) -> Json:
    """Return the answered cases as a JSON document."""
    cases = {
        name: {"recorded": day, "answers": [answer.to_json() for answer in result.answers]}
        for name, result in results.items()
        if result.outcome == "answered"
    }
    return {"format": _FORMAT, "location": location, "cases": cases}


def write(path: Path, made: Json, *, words: tuple[str, ...] = ()) -> None:
    """Write a document. Cases of an existing file that the document does not have are kept.

    Raises RecordingError, and writes nothing, if it has a secret or one of the `words`.
    """
    merged = {**made, "cases": {**(_load(path)["cases"] if path.exists() else {}), **made["cases"]}}
    check(merged, path, words=words)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(merged, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def check(made: Json, path: Path, *, words: tuple[str, ...] = ()) -> None:
    """Raise RecordingError if a document for a file has a secret or one of the `words`."""
    if found := secrets_in(made, words=words):
        places = "\n  ".join(dict.fromkeys(map(str, found)))
        raise RecordingError(
            f"{path} was not written, because it would publish something of your account:\n  {places}\n"
            "Extend scripts/verify_google/sanitising.py, and run the command again."
        )


def read(path: Path) -> dict[str, CaseResult]:
    """Return the recorded results by case. Raises RecordingError."""
    return {
        name: CaseResult(
            case=name, outcome="answered", answers=tuple(Answer(**answer) for answer in each["answers"])
        )
        for name, each in _load(path)["cases"].items()
    }


def _load(path: Path) -> Json:
    loaded = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(loaded, dict) or loaded.get("format") != _FORMAT:
        raise RecordingError(f"{path} has no recorded answers of format {_FORMAT}.")
    return loaded
