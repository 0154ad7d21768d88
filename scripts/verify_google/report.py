"""The report of a run, in Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scripts.verify_google.comparison import Difference

_LONGEST_VALUE = 300


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a run. `results` has a word for each program; `counted` is in dollars.

    `questions` has the answers of Google Cloud and of the emulator to each question.
    """

    location: str
    results: Mapping[str, str]
    differences: Sequence[Difference]
    counted: float
    is_clean: bool = True
    questions: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def unexplained(self) -> list[Difference]:
        """The differences without a known reason."""
        return [each for each in self.differences if each.allowed is None]

    def markdown(self) -> str:
        """Return the report as Markdown."""
        known = [each for each in self.differences if each.allowed is not None]
        lines = [
            *("# Google Cloud and the emulator", ""),
            f"{self.location}. {len(self.unexplained)} fields differ. Counted: ${self.counted:.2f}.",
            *([] if self.is_clean else ["", "Not everything was deleted: see the end of the run's output."]),
            "",
            *("| program | result |", "| --- | --- |"),
            *(f"| {name} | {_cell(result)} |" for name, result in self.results.items()),
            *(["", "## Differences", "", *_table(self.unexplained)] if self.unexplained else []),
            *(["", "## Known differences", "", *_table(known)] if known else []),
            *(["", "## Questions", *self._questions()] if self.questions else []),
        ]
        return "\n".join(lines) + "\n"

    def _questions(self) -> Iterator[str]:
        for asks, (google, emulator) in self.questions.items():
            yield from ("", f"### {asks[0].upper()}{asks[1:]}", "")
            for name, answer in (("Google Cloud", google), ("The emulator", emulator)):
                yield from (f"{name}:", "", "```json", json.dumps(answer, indent=1), "```", "")


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
