"""A promotion as a table for a terminal, plain lines for a pipe, Markdown for a review, and JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.cli.teams.promote.apply import Sent
from pulumi_vertex_training.cli.teams.promote.artifacts import Image, Package
from pulumi_vertex_training.cli.teams.promote.chosen import Setting
from pulumi_vertex_training.cli.teams.promote.plan import Plan, Step
from pulumi_vertex_training.cli.teams.promote.stacks import Value
from pulumi_vertex_training.core.promotion import entries as promotion
from pulumi_vertex_training.views.markdown import code, escaped
from vertex_training.command_line.output import Output
from vertex_training.findings.words import counted

_HEADINGS = ("PROMOTE", "NAME", "NOW", "PROMOTED", "RUN", "COPY")
_LONGEST = 40


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the plan."""

    what: str
    name: str
    now: str
    then: str
    run: str = ""
    copy: str = ""

    @property
    def cells(self) -> list[str]:
        return [self.what, self.name, self.now, self.then, self.run, self.copy]


def rows(plan: Plan) -> list[Row]:
    """Return the artifacts, then the configuration."""
    own = f"{plan.source.project}:"
    return [*(_row(step) for step in plan.steps), *(_setting_row(one, own) for one in plan.settings)]


def _row(step: Step) -> Row:
    one = step.artifact
    return Row(
        what="image" if isinstance(one, Image) else "package",
        name=one.name,
        now=one.deployed.removeprefix("sha256:")[:12] or "none",
        then=one.entry.content if step.changes else f"{one.entry.content} (the same)",
        run=one.entry.run or "none",
        copy=_copy(step),
    )


def _copy(step: Step) -> str:
    if step.copy == "there":
        return "is there"
    if step.copy == "later":
        return "by the first pulumi up"
    if step.copy == "copy":
        return "by Cloud Storage, nothing is sent"
    if step.copy == "mount":
        return f"{counted(step.missing.blobs, 'blob')} mounted, nothing is sent"
    return (
        f"{counted(step.missing.blobs, 'blob')}, {step.missing.sent_bytes / 1e6:.1f} MB sent to another host"
    )


def _setting_row(one: Setting, own: str) -> Row:
    then = _shown(one.new)
    return Row(
        what="config",
        name=one.key.removeprefix(own),
        now=_shown(one.old),
        then=then if one.changes else f"{then} (the same)",
    )


def _shown(value: Value | None) -> str:
    if value is None:
        return "none"
    if value.secret:
        return "[secret]"
    text = value.text or ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def title(plan: Plan) -> str:
    """Return the heading: "Promotion of digits: stack dev -> stack prod, run train/2"."""
    run = f", run {plan.run}" if plan.run else ""
    return f"Promotion of {plan.source.project}: stack {plan.source.name} -> stack {plan.target.name}{run}"


def summary(plan: Plan, *, done: bool) -> str:
    """Return what is done, or would be, in a sentence without its full stop."""
    if not plan.changes:
        return f"nothing to do, stack {plan.target.name} has this promotion"
    artifacts = counted(len(plan.steps), "artifact")
    settings = sum(one.changes for one in plan.settings)
    values = f" and {counted(settings, 'value')} of the configuration" if settings else ""
    return f"{artifacts}{values} {'promoted' if done else 'to promote'}"


def next_steps(plan: Plan, arguments: Mapping[str, str | None], *, done: bool) -> list[str]:
    """Return the sentences about what to do next."""
    up = f"`pulumi up --stack {plan.target.name}`"
    if not plan.changes:
        return [f"{up} deploys it, if you have not yet."]
    if done:
        return [
            f"Pulumi.{plan.target.short}.yaml has the promotion under {promotion.KEY}. Commit it, then run "
            f"{up}, which builds none of these."
        ]
    words = [word for name, value in arguments.items() if value for word in (name, value)]
    command = shlex.join(["vertex-training", "promote", *words, "--yes"])
    return [f"Nothing was changed. To promote, run `{command}`."]


def show(
    plan: Plan, sent: Mapping[str, Sent] | None, arguments: Mapping[str, str | None], output: Output
) -> None:
    """Print the promotion for people. `sent` is None for a plan that is not carried out."""
    done = sent is not None
    output.paragraph(f"{title(plan)}: {summary(plan, done=done)}.", style="bold")
    output.line()
    output.table(_HEADINGS, [row.cells for row in rows(plan)])
    output.line()
    for name, one in (sent or {}).items():
        if one.mounted or one.sent_bytes:
            mounted = f"{counted(one.mounted, 'blob')} mounted, " if one.mounted else ""
            output.paragraph(f"{name}: {mounted}{one.sent_bytes:,} bytes sent.")
    for note in (*plan.notes, *next_steps(plan, arguments, done=done)):
        output.paragraph(note)


def markdown(plan: Plan, arguments: Mapping[str, str | None], *, done: bool) -> str:
    """Return the promotion for a comment of a pull request."""
    lines = [f"### {title(plan)}", "", f"{summary(plan, done=done)}.", ""]
    lines += ["| Promote | Name | Now | Promoted | Run | Copy |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows(plan):
        cells = [row.what, code(row.name), *map(escaped, row.cells[2:])]
        lines.append(f"| {' | '.join(cells)} |")
    for note in (*plan.notes, *next_steps(plan, arguments, done=done)):
        lines += ["", note]
    return "\n".join(lines)


def document(plan: Plan, sent: Mapping[str, Sent] | None) -> dict[str, Any]:
    """Return the promotion as JSON."""
    return {
        "project": plan.source.project,
        "from": plan.source.name,
        "to": plan.target.name,
        "run": plan.run or None,
        "changes": plan.changes,
        "done": sent is not None,
        "artifacts": [_artifact_document(step, sent or {}) for step in plan.steps],
        "config": [_setting_document(one) for one in plan.settings],
        "notes": list(plan.notes),
    }


def _artifact_document(step: Step, sent: Mapping[str, Sent]) -> dict[str, Any]:
    one = step.artifact
    is_image = isinstance(one, Image)
    kind = "image" if is_image else "package"
    result = sent.get(f"{kind}/{one.name}", Sent())
    return {
        "kind": kind,
        "name": one.name,
        "old": one.deployed or None,
        "new": one.entry.digest if isinstance(one, Image) else one.entry.sha256,
        "source": str(one.source) if isinstance(one, Image) else one.entry.source,
        "target": _target(one),
        "run": one.entry.run or None,
        "job": one.entry.job or None,
        "changes": step.changes,
        "copy": step.copy,
        "bytesToSend": step.missing.sent_bytes,
        "sentBytes": result.sent_bytes,
        "mountedBlobs": result.mounted,
    }


def _target(one: Image | Package) -> str | None:
    if one.target is None:
        return None
    return str(one.target.at(one.entry.digest)) if isinstance(one, Image) else str(one.target)


def _setting_document(one: Setting) -> dict[str, Any]:
    """Return a value of the configuration, without the texts of a secret."""

    def text(value: Value | None) -> str | None:
        return None if value is None or value.secret else value.text

    return {
        "key": one.key,
        "secret": one.new.secret,
        "old": text(one.old),
        "new": text(one.new),
        "changes": one.changes,
    }
