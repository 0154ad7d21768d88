"""Print answers as Markdown, for an issue or a comment of a pull request."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.views import markdown
from pulumi_vertex_training.views.markdown import code, escaped
from vertex_training.command_line.output import Cell, Code, Output, Style, used_columns

_LONGEST_FINDING = 2_000
_LONGEST_COMMAND = 4_000


@dataclass(frozen=True, kw_only=True)
class MarkdownOutput(Output):
    """The parts of an answer as Markdown. Lengths and live text are as in `markdown`."""

    def text(self, text: str) -> None:
        """Print Markdown as it is."""
        print(text)

    def title(self, text: str, summary: str = "") -> None:
        print(
            f"### {escaped(text)}" + (f"\n\n{escaped(summary[:1].upper() + summary[1:])}." if summary else "")
        )

    def gap(self) -> None:
        return

    def signed(self, sign: str, word: str) -> str:  # noqa: ARG002
        return word

    def section(self, title: str) -> None:
        print(f"\n#### {escaped(title)}")

    def paragraph(self, text: str, *, indent: int = 0, style: Style = "") -> None:  # noqa: ARG002
        said = markdown.message(text)
        print(f"\n<sub>{said}</sub>" if style == "dim" else f"\n{said}")

    def finding(self, level: str, text: str) -> None:
        print(f"\n- **{level}**: {markdown.message(text, longest=_LONGEST_FINDING)}")

    def results(self, results: Sequence[tuple[str, str, str]]) -> None:
        self.table(("RESULT", "FINDING", "REMEDY"), [(*row[:2], Code(row[2])) for row in results])

    def commands(self, title: str, rows: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        self.table((title, "RUN"), [([text, *remarks], Code(command)) for text, command, remarks in rows])

    def details(self, summary: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        print("\n" + "\n".join(markdown.details(escaped(summary), _table(headings, rows))))

    def table(
        self,
        headings: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        *,
        styles: Sequence[str] = (),  # noqa: ARG002
        indent: int = 0,  # noqa: ARG002
        optional: Collection[str] = (),
        one_line: Collection[str] = (),  # noqa: ARG002  of a terminal
        spared: Collection[str] = (),  # noqa: ARG002
    ) -> None:
        print("\n" + "\n".join(_table(*used_columns(headings, rows, optional))))


def _table(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    return markdown.table([heading.capitalize() for heading in headings], map(_cells, rows))


def _cells(row: Sequence[Cell]) -> list[str]:
    return ["<br>".join(map(_cell, cell if isinstance(cell, (list, tuple)) else [cell])) for cell in row]


def _cell(text: str) -> str:
    return code(text, longest=_LONGEST_COMMAND) if isinstance(text, Code) else escaped(text)
