"""The report of a run, in Markdown and JSON, and the recorded answers of Google Cloud."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scripts.verify_google.answers import Answers
from scripts.verify_google.comparison import Difference
from scripts.verify_google.sanitising import secrets_in

Json = dict[str, Any]

RECORDED = Path(__file__).resolve().parents[2] / "tests" / "parity" / "google" / "answers.json"
"""Recorded answers that a test compares the emulator with."""

_FORMAT = 2
_LONGEST_VALUE = 300


class RecordingError(Exception):
    """Answers cannot be recorded or read; the text has the reason."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a run. `results` has a word for each program; `counted` and `budget` are dollars.

    `questions` has each question with the answers of Google Cloud and of the emulator.
    """

    day: str
    location: str
    results: Mapping[str, str]
    differences: Sequence[Difference]
    counted: float
    budget: float
    notes: Sequence[str] = ()
    questions: Sequence[tuple[str, Any, Any]] = ()

    @property
    def unexplained(self) -> list[Difference]:
        """The differences without a known reason."""
        return [each for each in self.differences if each.allowed is None]

    def markdown(self) -> str:
        """Return the report as Markdown."""
        known = [each for each in self.differences if each.allowed is not None]
        lines = [
            *("# Google Cloud and the emulator", ""),
            f"{self.day}, {self.location}. {len(self.unexplained)} fields differ. "
            f"Counted: ${self.counted:.2f} of ${self.budget:.2f}.",
            *("", *(f"* {note}" for note in self.notes), *([""] if self.notes else [])),
            *("| program | result |", "| --- | --- |"),
            *(f"| {name} | {_cell(result)} |" for name, result in self.results.items()),
            *(["", "## Differences", "", *_table(self.unexplained)] if self.unexplained else []),
            *(["", "## Known differences", "", *_table(known)] if known else []),
            *(["", "## Questions", *self._questions()] if self.questions else []),
        ]
        return "\n".join(lines) + "\n"

    def _questions(self) -> Iterator[str]:
        for asks, google, emulator in self.questions:
            yield from ("", f"### {asks[0].upper()}{asks[1:]}", "")
            for name, answer in (("Google Cloud", google), ("The emulator", emulator)):
                yield from (f"{name}:", "", "```json", json.dumps(answer, indent=1), "```", "")

    def json(self) -> Json:
        """Return the report as a JSON document."""
        return {**asdict(self), "differences": [asdict(each) for each in self.differences]}


def _table(differences: Sequence[Difference]) -> list[str]:
    lines = ["| step | field | Google Cloud | the emulator | why |", "| --- | --- | --- | --- | --- |"]
    for each in differences:
        cells = (each.step, each.path, _shown(each.google), _shown(each.emulator), each.allowed or "")
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return lines


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _cell(text: str) -> str:
    for mark, written in (("\\", "\\\\"), ("|", "\\|"), ("\r", " "), ("\n", "<br>"), ("\t", " ")):
        text = text.replace(mark, written)
    return text


def record(path: Path, answers: Answers, *, location: str, day: str, words: tuple[str, ...] = ()) -> None:
    """Write answers. Raises RecordingError, and writes nothing, if they have a secret or a word."""
    document = {"format": _FORMAT, "location": location, "recorded": day, "answers": answers}
    if found := secrets_in(document, words=words):
        places = "\n  ".join(dict.fromkeys(map(str, found)))
        raise RecordingError(
            f"{path} was not written, because it would publish something of your account:\n  {places}\n"
            "Extend scripts/verify_google/sanitising.py, and run the command again."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def recorded(path: Path) -> Answers:
    """Return recorded answers. Raises RecordingError."""
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise RecordingError(f"{path} has no recorded answers of format {_FORMAT}.")
    return dict(document["answers"])
