"""The plan as one comment of a pull request, which a workflow updates in place.

The first line is a marker: a comment that begins with the same line is the one to replace. GitHub refuses
comments of more than 65,536 characters, so a longer one is shortened, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pulumi_vertex_training.cli.teams.plan import checks
from pulumi_vertex_training.cli.teams.plan.checks import CheckFinding, CheckResult
from pulumi_vertex_training.cli.teams.plan.live import LiveJob
from pulumi_vertex_training.cli.teams.plan.losses import Loss
from pulumi_vertex_training.cli.teams.plan.plan import Change, Finding, Plan, shown
from pulumi_vertex_training.cli.teams.plan.view import of_resource, summary_of, title_of, words_of
from pulumi_vertex_training.views import markdown
from pulumi_vertex_training.views.markdown import code, escaped
from pulumi_vertex_training.views.topology.mermaid import picture_of_change
from vertex_training.findings.words import all_of

LIMIT = 65_000
"""Most bytes of a comment; GitHub accepts 65,536 characters."""

_MOST_PICTURES = 10
"""Most pictures: a browser draws each of them on its own, which takes time."""
_MOST_WORDS = 12
_MOST_FIELDS = 60
_LONGEST_VALUE = 200
_SIZE_OF_NOTE = 1_000


@dataclass(kw_only=True)
class _Section:
    """Parts of the comment that can be left out one by one, the last first.

    `noun` and `plural` name the parts in the sentence about those that are left out. `before` and `after` are
    the lines around them.
    """

    noun: str
    plural: str
    items: Sequence[str]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    kept: int = 0

    def lines(self) -> Iterator[str]:
        if self.kept:
            yield ""
            yield from self.before
            yield from self.items[: self.kept]
            yield from self.after

    @property
    def left_out(self) -> str:
        count = len(self.items) - self.kept
        return f"{count} {self.noun if count == 1 else self.plural}" if count else ""


def marker(project: str, stack: str) -> str:
    """Return the first line of the comments about a stack; it is not shown."""
    place = "/".join(part for part in (project, stack) if part)
    # Two dashes may end the comment of HTML.
    return f"<!-- vertex-training plan {re.sub(r'[^-A-Za-z0-9_./]', '?', place).replace('--', '- -')} -->"


def comment(
    plan: Plan,
    live: Mapping[str, LiveJob],
    now: datetime,
    results: Sequence[CheckResult] = (),
    *,
    losses: Mapping[str, Loss] | None = None,
    limit: int = LIMIT,
) -> str:
    """Return the comment for a plan.

    `live` are the live jobs to be stopped, by URN, `losses` the content to be deleted, `results` those of
    the checks.
    """
    sections = _sections(plan, live, losses or {}, results)
    summary = summary_of(plan)
    head = [
        marker(plan.project, plan.stack),
        f"### {escaped(title_of(plan))}",
        "",
        f"{summary[:1].upper()}{summary[1:]}.",
        *_failed_checks(results),
    ]
    head += [line for result in results for line in _headline(result)]
    foot = ["", f"<sub>Made at {now:%Y-%m-%d %H:%M} UTC.</sub>"]
    _fit(sections.values(), limit - _size([*head, *foot]) - _SIZE_OF_NOTE)
    left_out = [section.left_out for section in sections.values() if section.left_out]
    note = ["", _note(plan, left_out)] if left_out else []
    order = ("losses", "live", "errors", "checks", "changes", "warnings", "tables", "pictures", "fields")
    return "\n".join([*head, *note, *(line for name in order for line in sections[name].lines()), *foot])


def comment_of_failure(project: str, stack: str, message: str, now: datetime) -> str:
    """Return the comment for a plan that could not be made."""
    title = title_of(Plan(project=project, stack=stack))
    return "\n".join(
        [
            marker(project, stack),
            f"### {escaped(title)}",
            "",
            "There is no plan, because the preview failed.",
            "",
            f"- **error**: {markdown.message(message, longest=4_000)}",
            "",
            f"<sub>Made at {now:%Y-%m-%d %H:%M} UTC.</sub>",
        ]
    )


def _failed_checks(results: Sequence[CheckResult]) -> Iterator[str]:
    """Yield what the failed checks mean for the deployment; nothing if none failed."""
    if failed := checks.failed(results):
        yield from ("", "> [!CAUTION]")
        yield (
            f"> Failed: {all_of(failed)} (exit code {checks.exit_code(results)}). "
            "A plan with a failed check is not saved, so it cannot be deployed."
        )


def _headline(result: CheckResult) -> Iterator[str]:
    """Yield the line of a check below the summary of the plan, which is never left out."""
    said = f": {escaped(result.summary)}" if result.summary else ""
    if said or result.failed:
        yield ""
        yield f"**{result.name.capitalize()}{' failed' if result.failed else ''}**{said}."


def _sections(
    plan: Plan,
    live: Mapping[str, LiveJob],
    losses: Mapping[str, Loss],
    results: Sequence[CheckResult],
) -> dict[str, _Section]:
    """Return the sections, the most important first: the others get what it leaves."""
    pictures = [picture for change in plan.changes for picture in _pictures(change)]
    return {
        "losses": _warnings(
            "loss",
            "losses",
            [
                loss.sentence(name=code(loss.name), address=code(loss.address))
                for change in plan.changes
                if (loss := losses.get(change.urn)) is not None
            ],
        ),
        "live": _warnings(
            "live job",
            "live jobs",
            [
                _sentence(job, change.name).rstrip(".")
                for change in plan.changes
                if (job := live.get(change.urn)) is not None
            ],
        ),
        "errors": _findings(plan.findings, "error"),
        "checks": _Section(
            noun="finding of a check",
            plural="findings of checks",
            items=[_checked(result.name, one) for result in results for one in result.findings],
        ),
        "changes": _Section(
            noun="change",
            plural="changes",
            items=[_row(change, losses.get(change.urn), results) for change in plan.changes],
            before=tuple(markdown.table(("Effect", "Resource", "Type", "Change"), ())),
        ),
        "warnings": _findings(plan.findings, "warning"),
        "tables": _Section(
            noun="table of a check",
            plural="tables of checks",
            items=["\n".join(["", *_table(result)]) for result in results if result.rows],
        ),
        "pictures": _Section(
            noun="picture",
            plural="pictures",
            items=pictures,
            before=("#### Topology",),
        ),
        "fields": _Section(
            noun="table of fields",
            plural="tables of fields",
            items=["\n".join(["", *table]) for change in plan.changes if (table := list(_fields(change)))],
        ),
    }


def _sentence(job: LiveJob, name: str) -> str:
    said = job.sentence(name).removeprefix(name)
    space = " " if said.startswith(" ") else ""
    return f"{code(name)}{space}{markdown.message(said, longest=2_000)}"


def _warnings(noun: str, plural: str, sentences: Sequence[str]) -> _Section:
    items = [f"> - {each}." for each in sentences]
    return _Section(noun=noun, plural=plural, items=items, before=("> [!WARNING]",))


def _findings(findings: Iterable[Finding], severity: str) -> _Section:
    items = dict.fromkeys(
        f"- **{severity}**: {markdown.message(of_resource(one.resource, one.message), longest=2_000)}"
        for one in findings
        if one.severity == severity
    )
    return _Section(noun=severity, plural=f"{severity}s", items=list(items))


def _checked(name: str, finding: CheckFinding) -> str:
    figures = "".join(f"<br>{escaped(figure)}" for figure in finding.figures[:_MOST_WORDS])
    return f"- **{name}, {finding.severity}**: {markdown.message(finding.sentence, longest=2_000)}{figures}"


def _table(result: CheckResult) -> Iterator[str]:
    rows = [[escaped(cell) for cell in row] for row in result.rows[:_MOST_FIELDS]]
    more = len(result.rows) - len(rows)
    table = markdown.table([escaped(heading) for heading in result.headings], rows)
    notes = (f"\nand {more} more",) if more else ()
    yield from markdown.details(result.name.capitalize(), [*table, *notes])


def _row(change: Change, loss: Loss | None, results: Sequence[CheckResult]) -> str:
    lost = [loss.words] if loss else []
    words = [*lost, *words_of(change), *checks.words_about(change.urn, results)]
    cells = [escaped(part) for part in words[:_MOST_WORDS]]
    if len(words) > _MOST_WORDS:
        cells.append(f"and {len(words) - _MOST_WORDS} more")
    return f"| {change.effect} | {code(change.name)} | {escaped(change.type)} | {'<br>'.join(cells)} |"


def _pictures(change: Change) -> Iterator[str]:
    """Yield a picture of the pools whose replicas or machines the change makes, changes or removes."""
    for topology in change.topologies:
        drawn = picture_of_change(topology.reshaped)
        if drawn and change.effect != "none":
            left_out = len(topology.changes) - len(topology.reshaped)
            pools = all_of([f"{one.role.in_words(2)}" for one in topology.reshaped]) if left_out else ""
            of = ", ".join(filter(None, (code(change.name), topology.of, pools)))
            yield f"\n{of}:\n\n{markdown.mermaid(drawn)}"


def _fields(change: Change) -> Iterator[str]:
    if change.difference is not None and change.difference.paths:
        compared = [
            (one.path, shown(one.old), shown(one.new))
            for one in (*change.difference.pool_fields, *change.difference.fields)
        ]
    else:
        compared = [(one.path, shown(one.old), shown(one.new)) for one in change.values]
    if compared:
        rows = [
            (code(path), escaped(old, longest=_LONGEST_VALUE), escaped(new, longest=_LONGEST_VALUE))
            for path, old, new in compared[:_MOST_FIELDS]
        ]
        more = len(compared) - len(rows)
        table = [*markdown.table(("Field", "Old", "New"), rows), *((f"\nand {more} more",) if more else ())]
        yield from markdown.details(f"{escaped(change.name)}, field by field", table)


def _fit(sections: Iterable[_Section], free: int) -> None:
    """Keep as many items as fit into so many bytes."""
    for section in sections:
        most = _MOST_PICTURES if section.noun == "picture" else len(section.items)
        used = _size(["", *section.before, *section.after])
        for item in section.items[:most]:
            used += _size([item])
            if used > free:
                break
            section.kept += 1
        if section.kept:
            free -= _size(["", *section.before, *section.after, *section.items[: section.kept]])


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _note(plan: Plan, left_out: Sequence[str]) -> str:
    stack = f" --stack {plan.stack}" if plan.stack else ""
    return (
        f"**Shortened** to fit into a comment: {all_of(left_out)} {_are(left_out)} left out. "
        f"To see everything, run {code(f'vertex-training plan{stack}')}."
    )


def _are(left_out: Sequence[str]) -> str:
    return "is" if len(left_out) == 1 and left_out[0].startswith("1 ") else "are"
