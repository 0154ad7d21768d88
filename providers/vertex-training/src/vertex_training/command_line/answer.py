"""The answer of a command, printed by one renderer: as JSON for programs, as text or Markdown for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of


class Answer:
    """Base of the answers, which are frozen dataclasses.

    A subclass says what people see, once for all forms of output. Its JSON has its fields, unless it says
    otherwise, and its command ends with `exit_code`.
    """

    @property
    def exit_code(self) -> int:
        """0, unless the answer is a failure."""
        return 0

    def document(self) -> Mapping[str, Any]:
        """Return the JSON, see docs/reference/json.md."""
        found: Mapping[str, Any] = json_of(self)
        return found

    def show(self, output: Output) -> None:
        """Print the answer for people."""
        raise NotImplementedError


def render(answer: Answer | int | None, output: Output) -> int:
    """Print an answer in the form that the output has, and return the exit code.

    A command that has printed as it went has an exit code, or None for 0, as its answer.
    """
    if not isinstance(answer, Answer):
        return answer or 0
    if output.as_json:
        output.document(answer.document())
    else:
        answer.show(output)
    return answer.exit_code


@dataclass(frozen=True)
class Sentences(Answer):
    """An answer of some sentences. `keys` are its JSON, `notes` go to standard error."""

    keys: Mapping[str, Any]
    lines: Sequence[str]
    notes: Sequence[str] = ()
    code: int = 0

    @property
    def exit_code(self) -> int:
        return self.code

    def document(self) -> Mapping[str, Any]:
        return self.keys

    def show(self, output: Output) -> None:
        for line in self.lines:
            output.line(line)
        for note in self.notes:
            output.note(note)


@dataclass(frozen=True)
class Rows(Answer):
    """An answer of a table, or of a sentence if it has no rows. `keys` are its JSON."""

    keys: Mapping[str, Any]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    empty: str

    def document(self) -> Mapping[str, Any]:
        return self.keys

    def show(self, output: Output) -> None:
        if self.rows:
            output.table(self.headings, self.rows)
        else:
            output.line(self.empty)
