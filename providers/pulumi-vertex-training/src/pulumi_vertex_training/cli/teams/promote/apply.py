"""Carry a promotion out: first the copies, then the configuration, in one write.

Each copy can be interrupted and repeated. As long as the configuration is not written, the other stack runs
what it ran before.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.teams.promote import chosen
from pulumi_vertex_training.cli.teams.promote.artifacts import IMAGE, PACKAGE, Image, Package
from pulumi_vertex_training.cli.teams.promote.plan import Plan, Step
from pulumi_vertex_training.cloud.container_registry import copying
from pulumi_vertex_training.core.promotion import entries as promotion
from pulumi_vertex_training.core.promotion import packages as promoted_packages
from pulumi_vertex_training.timeouts import Timeouts
from vertex_emulator import machine_clock
from vertex_training.command_line.errors import CommandError

_TELL_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Sent:
    """The bytes that were sent for an artifact, and the blobs that were mounted instead."""

    sent_bytes: int = 0
    mounted: int = 0


def carry_out(plan: Plan, folder: Path, timeouts: Timeouts, tell: Callable[[str], None]) -> dict[str, Sent]:
    """Carry a plan out. Return what was sent, by KIND/NAME. `tell` is called before each longer step.

    Raises CloudError and CommandError; the same command continues then.
    """
    sent = {}
    for step in plan.steps:
        one = step.artifact
        if isinstance(one, Image):
            if step.copy in ("mount", "send") and one.target is not None:
                tell(f"Copying image {one.name} to {one.target.repository} ...")
            sent[f"image/{one.name}"] = _copy_image(plan, step, one, tell)
        else:
            _copy_package(plan, one)
    if plan.writes_configuration:
        tell(f"Writing the configuration of stack {plan.target.name} ...")
        _write(plan, functools.partial(_pulumi, folder=folder, timeouts=timeouts))
    return sent


def _copy_image(plan: Plan, step: Step, image: Image, tell: Callable[[str], None]) -> Sent:
    if image.target is None or step.copy not in ("mount", "send"):
        return Sent()
    endpoint = plan.target.endpoint_of(plan.target.of_kind(IMAGE).get(image.name))
    reported = machine_clock.monotonic()

    def report(sent: int, _wanted: int) -> None:
        nonlocal reported
        if machine_clock.monotonic() - reported >= _TELL_SECONDS:
            reported = machine_clock.monotonic()
            tell(f"{sent / 1e6:.0f} of {step.missing.sent_bytes / 1e6:.0f} MB sent")

    tree = copying.read(endpoint, image.source)
    copied = copying.copy(endpoint, tree, image.target, on_progress=report)
    return Sent(sent_bytes=copied.sent_bytes, mounted=copied.mounted)


def _copy_package(plan: Plan, package: Package) -> None:
    endpoint = plan.target.endpoint_of(plan.target.of_kind(PACKAGE).get(package.name))
    if package.target is None:
        promoted_packages.keep_source(endpoint, package.entry)
        return
    promoted_packages.ensure(endpoint, package.target, package.entry)


def _write(plan: Plan, pulumi: Callable[..., None]) -> None:
    """Write secrets first, each through a pipe, and then everything else at once."""
    stack = ("--stack", plan.target.name)
    for one in plan.settings:
        if one.changes and one.new.secret:
            pulumi(["config", "set", one.key, "--secret", *stack], stdin=f"{one.new.text or ''}\n")
    values = {one.key: chosen.as_json(one.new) for one in plan.settings if one.changes and not one.new.secret}
    if plan.before != plan.after:
        structure = promotion.document(plan.after)
        values[promotion.KEY] = {"value": json.dumps(structure), "objectValue": structure, "secret": False}
    if values:
        pulumi(["config", "set-all", "--json", json.dumps(values), *stack])


def _pulumi(words: list[str], *, folder: Path, timeouts: Timeouts, stdin: str | None = None) -> None:
    ran = pulumi_command.run(words, folder, timeouts.pulumi, stdin=stdin)
    if ran.code:
        raise CommandError(
            f"`pulumi {' '.join(words[:2])}` failed with exit code {ran.code}: {ran.message} Everything "
            "before it is done: correct this, and run the same command again."
        )
