"""`explain` for people: what it is, what runs, what is wrong, what its replicas see."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from pulumi_vertex_training.cli.explain import environment_view
from pulumi_vertex_training.cli.explain.rule_index import source_of
from pulumi_vertex_training.views import pools_view
from pulumi_vertex_training.views.explained import Explanation
from pulumi_vertex_training.views.kind_view import view_of_document
from pulumi_vertex_training.views.output import Output, visible
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import all_of

_STYLES = {"error": "red", "warning": "yellow"}
_MOST_FINDINGS = 100


def show(explained: Explanation, output: Output, *, command: str | None) -> None:
    """The whole page. With errors these are its end, where they are seen, and no environment is shown.

    `command` explains the same again, for the hint at the end; None where it cannot be given.
    """
    if explained.document.spec is None:
        output.paragraph("This is no job.", style="bold")
        show_findings(explained.problems, output)
        return
    kind = view_of_document(explained.document)
    titles = kind.titles(explained)
    output.paragraph(kind.heading(explained), style="bold")
    kind.show(explained, output)
    if explained.spec is not None:
        pools_view.show_job(explained.spec, output, title=titles.pools, fields_title=titles.fields)
    if explained.errors:
        _show_sizing(explained, output)
        show_findings(explained.problems, output)
        return
    show_findings(explained.problems, output)
    _show_sizing(explained, output)
    environment_view.show(explained, output, title=titles.replicas, command=command)


def _show_sizing(explained: Explanation, output: Output) -> None:
    if explained.sizing is None:
        return
    output.section("Reduction servers")
    for sentence in explained.sizing.arithmetic:
        output.paragraph(sentence, indent=2)
    declared = explained.declared_reduction_servers
    if declared is not None and explained.job.sizing is None:
        output.paragraph(f"The job declares {declared}.", indent=2)


def show_findings(problems: Sequence[Problem], output: Output) -> None:
    """Errors before warnings, each with its document; on a line of its own in a pipe."""
    if not problems:
        return
    counts = [(level, sum(problem.level == level for problem in problems)) for level in _STYLES]
    output.section(all_of([f"{n} {level}{'s' if n > 1 else ''}" for level, n in counts if n]))
    for level, style in _STYLES.items():
        of_level = [problem for problem in problems if problem.level == level]
        for problem in of_level[:_MOST_FINDINGS]:
            source = source_of(problem.rule)
            if not output.terminal:
                output.line(f"{level}: {sentence(problem)}" + (f" ({source})" if source else ""))
                continue
            output.line(
                f"{output.paint(level, style)} {output.paint(visible(problem.path), 'bold')}".rstrip()
            )
            output.paragraph(problem.message, indent=2)
            if source:
                output.paragraph(source, indent=2, style="dim")
        if len(of_level) > _MOST_FINDINGS:
            output.line(f"... and {len(of_level) - _MOST_FINDINGS} more; --json has all")


def sentence(problem: Problem) -> str:
    """A finding in one line."""
    return visible(str(problem))


def some_of(names: Sequence[str], *, most: int = 6) -> str:
    """The names, only the first and the last of many."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} ... {names[-1]} ({len(names)} in all)"


def assignments(variables: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Lines that a shell reads, one for each variable."""
    for name, value in variables:
        yield f"{name}={_quoted(value)}"


def _quoted(value: str) -> str:
    """For a shell; control characters, which a terminal would obey, in the shell's $'...' form."""
    if visible(value) == value:
        return shlex.quote(value)
    escaped = "".join(
        {"\\": "\\\\", "'": "\\'"}.get(c, c if visible(c) == c else f"\\U{ord(c):08x}") for c in value
    )
    return f"$'{escaped}'"
