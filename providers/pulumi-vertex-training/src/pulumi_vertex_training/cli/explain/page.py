"""Print the text output of `explain`: the job, its findings and the environments of its replicas."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pulumi_vertex_training.cli.explain import framework_page
from pulumi_vertex_training.cli.explain.rule_index import source_of
from pulumi_vertex_training.views import cost_view, pools_view
from pulumi_vertex_training.views.explained import ExplainedReplica, Explanation
from pulumi_vertex_training.views.kind_view import view_of_document
from vertex_cluster.frameworks import FRAMEWORKS
from vertex_training.command_line.output import Output, Style
from vertex_training.fields.decode import MOST_PROBLEMS
from vertex_training.findings.problems import Level, Problem
from vertex_training.findings.words import all_of, counted, visible
from vertex_training.replica_environment.replica import ReplicaEnvironment

_STYLES: dict[Level, Style] = {"error": "red", "warning": "yellow"}
_MOST_FINDINGS = MOST_PROBLEMS + 1


def show(explained: Explanation, output: Output, *, command: str | None, in_parts: bool) -> None:
    """Print the whole page, errors and warnings first. If there are errors, no environment is printed.

    `command` is a command that explains the same, for the hint at the end, or None. `in_parts` prints each
    part of the cost.
    """
    if explained.document.spec is None:
        output.paragraph("This is not a job.", style="bold")
        show_findings(explained.problems, output)
        return
    kind = view_of_document(explained.document)
    titles = kind.titles(explained)
    output.paragraph(kind.heading(explained), style="bold")
    show_findings(explained.problems, output)
    kind.show(explained, output)
    if explained.spec is not None:
        pools_view.show_job(explained.spec, output, title=titles.pools, fields_title=titles.fields)
    cost_view.show_all(explained, output, in_parts=in_parts)
    _show_sizing(explained, output)
    if explained.errors:
        return
    if explained.preset is not None:
        framework_page.show_choices(explained.preset, explained.document.chosen, output)
    _show_replicas(explained, output, title=titles.replicas, command=command)


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
    """Print errors, then warnings, each with its source; in a pipe, each on one line."""
    if not problems:
        return
    counts = [(level, sum(problem.level == level for problem in problems)) for level in _STYLES]
    output.section(all_of([counted(n, level) for level, n in counts if n]))
    for level, style in _STYLES.items():
        of_level = [problem for problem in problems if problem.level == level]
        for problem in of_level[:_MOST_FINDINGS]:
            source = source_of(problem.rule)
            if not output.terminal:
                output.line(f"{level}: {sentence(problem)}" + (f" ({source})" if source else ""))
                continue
            path = ((" ", ""), (visible(problem.path), "bold")) if problem.path else ()
            output.line((level, style), *path)
            output.paragraph(problem.message, indent=2)
            if source:
                output.paragraph(source, indent=2, style="dim")
        if len(of_level) > _MOST_FINDINGS:
            output.line(f"... and {len(of_level) - _MOST_FINDINGS} more; --json prints all")


def sentence(problem: Problem) -> str:
    """Return a finding as one line."""
    return visible(str(problem))


def some_of(names: Sequence[str], *, most: int = 6) -> str:
    """Join the names; of many, only the first ones and the last."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} ... {names[-1]} ({len(names)} in all)"


def assignments(variables: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a shell assignment for each variable."""
    for name, value in variables:
        yield f"{name}={_quoted(value)}"


def _quoted(value: str) -> str:
    """Quote for a shell; control characters, which a terminal would obey, are escaped in $'...'."""
    if visible(value) == value:
        return shlex.quote(value)
    escaped = "".join(
        {"\\": "\\\\", "'": "\\'"}.get(c, c if visible(c) == c else f"\\U{ord(c):08x}") for c in value
    )
    return f"$'{escaped}'"


_MOST_ROWS = 6
"""Rows of a pool; of more replicas the first ones and the last are shown."""


def _show_replicas(explained: Explanation, output: Output, *, title: str, command: str | None) -> None:
    """Print the environments under a title, or nothing if no replica is listed."""
    replicas = explained.replicas
    if not replicas:
        return
    sample = explained.sample
    trial = f", trial {sample.trial}" if sample.trial else ""
    output.section(title)
    output.paragraph(
        f"With sample values: job {sample.job_id}, project number {sample.project_number}, "
        f"{sample.location}{trial}.",
        style="dim",
        indent=2,
    )
    for sentence in notes_on_slices(replicas):
        output.paragraph(sentence, style="dim", indent=2)
    _show_environments([each.environment for each in replicas], output)
    _show_on_emulator(replicas, output)
    _show_settings(explained, output)
    _show_ai_platform(replicas, output)
    if command is not None:
        output.line()
        text = f"All of one replica: {visible(command)} --replica {replicas[-1].environment.name}"
        output.line((text, "dim"))


def notes_on_slices(replicas: Sequence[ExplainedReplica]) -> Iterator[str]:
    """Yield notes on replicas that are several machines: only one environment is known."""
    for count, several in groupby(replicas, key=lambda replica: replica.machines):
        if count > 1:
            names = all_of([replica.environment.name for replica in several][:_MOST_ROWS])
            yield (
                f"{names}: a TPU slice of {count} machines. This is the environment of the first machine; "
                "the environments of the others are not known."
            )


def _show_environments(environments: Sequence[ReplicaEnvironment], output: Output) -> None:
    _show_views([_view(each) for each in environments], list(_cluster(environments[0])), output)


@dataclass(frozen=True, kw_only=True)
class _View:
    """Values of a replica to print."""

    name: str
    role: str
    pool: int
    values: Mapping[str, str]


def _view(environment: ReplicaEnvironment) -> _View:
    return _View(
        name=environment.name,
        role=environment.role.in_words(2 if environment.pool else 1),
        pool=environment.pool,
        values=_values(environment),
    )


def _values(environment: ReplicaEnvironment) -> dict[str, str]:
    """Return the variables, and the task in TF_CONFIG, its only part that differs between replicas."""
    task = (environment.tf_config or {}).get("task")
    of_tf_config = {"TF_CONFIG": f"{task['type']} {task['index']}"} if task else {}
    return {**of_tf_config, **environment.variables}


def _cluster(environment: ReplicaEnvironment) -> Iterator[tuple[str, str]]:
    """Yield the addresses, which all replicas share."""
    for name, hosts in (environment.cluster_spec or {}).get("cluster", {}).items():
        yield f"CLUSTER_SPEC {name}", _addresses(hosts)
    if environment.tf_config is None:
        yield "TF_CONFIG", "not set, since the job is not distributed"
    elif environment.cluster_spec is not None:
        yield "TF_CONFIG cluster", f"{all_of(list(environment.tf_config['cluster']))}, at the same addresses"
    else:
        for name, hosts in environment.tf_config["cluster"].items():
            yield f"TF_CONFIG {name}", _addresses(hosts)


def _addresses(hosts: Sequence[str]) -> str:
    """Shorten addresses that differ only in a number, as in `host-{0..3}:2222`."""
    match = re.fullmatch(r"(.*-)0(:\d+)", hosts[0]) if len(hosts) > 1 else None
    if match and list(hosts) == [f"{match[1]}{i}{match[2]}" for i in range(len(hosts))]:
        return f"{match[1]}{{0..{len(hosts) - 1}}}{match[2]}"
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} ... {hosts[-1]} ({len(hosts)} in all)"


def _show_views(views: Sequence[_View], pairs: Sequence[tuple[str, str]], output: Output) -> None:
    """Print values that are equal within each pool as pairs, and the others as a table of replicas."""
    shared = list(pairs)
    own = []
    for name in dict.fromkeys(name for view in views for name in view.values):
        by_pool = _by_pool(views, name)
        if by_pool is None:
            own.append(name)
            continue
        for value in dict.fromkeys(each for each in by_pool.values() if each is not None):
            roles = [role for role, found in by_pool.items() if found == value]
            only = f"  ({all_of(roles)})" if len(roles) < len(by_pool) else ""
            shared.append((name, value + only))
    output.pairs(shared)
    if own:
        output.line()
        rows = [
            [
                view.name if view else "...",
                *(view.values.get(name, "") if view else "" for name in own),
            ]
            for view in _some(views)
        ]
        output.table(["REPLICA", *own], rows, indent=2)


def _by_pool(views: Sequence[_View], name: str) -> dict[str, str | None] | None:
    """Return the value by role (None if not set), or None if it differs within a pool."""
    found: dict[str, str | None] = {}
    for view in views:
        value = view.values.get(name)
        if found.setdefault(view.role, value) != value:
            return None
    return found


def _some(views: Sequence[_View]) -> Iterator[_View | None]:
    """Yield the first views and the last of each pool; None stands for those left out between them."""
    for _, group in groupby(views, key=lambda view: view.pool):
        members = list(group)
        if len(members) <= _MOST_ROWS:
            yield from members
        else:
            yield from members[: _MOST_ROWS - 2]
            yield None
            yield members[-1]


def _show_on_emulator(replicas: Sequence[ExplainedReplica], output: Output) -> None:
    """Print the variables that only the emulator sets, for logical devices in place of accelerators."""
    if any(each.on_emulator for each in replicas):
        output.section("Also set by the emulator")
        views = [replace(_view(each.environment), values=each.on_emulator) for each in replicas]
        _show_views(views, (), output)


def _show_settings(explained: Explanation, output: Output) -> None:
    """Print the settings of a framework other than TensorFlow."""
    configured = [each for each in explained.replicas if each.framework_settings]
    if explained.framework is None or not configured:
        return
    how = FRAMEWORKS[explained.framework]
    output.section(
        f"Settings of {explained.framework}, as {how}" + (" variables" if how == "environment" else "")
    )
    _show_views(
        [replace(_view(each.environment), values=each.framework_settings or {}) for each in configured],
        (),
        output,
    )
    if explained.sample.addresses:
        output.paragraph("The IP addresses are sample values.", style="dim", indent=2)
    left_out = len(explained.replicas) - len(configured)
    if left_out:
        what = "1 replica does" if left_out == 1 else f"{left_out} replicas do"
        output.paragraph(f"{what} not take part.", style="dim", indent=2)


def _show_ai_platform(replicas: Sequence[ExplainedReplica], output: Output) -> None:
    """Print the environments that a training input's replicas had on AI Platform, if they differ."""
    legacy = [each.ai_platform for each in replicas if each.ai_platform is not None]
    if not legacy:
        return
    output.section("Environment on AI Platform")
    _show_environments(legacy, output)
