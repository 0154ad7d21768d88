"""`explain`: describe a declaration, its findings, and the environment of each replica."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pulumi_vertex_training.cli import check_switches, files
from pulumi_vertex_training.cli.explain import explanation, framework_page, markdown
from pulumi_vertex_training.cli.explain import json as explain_json
from pulumi_vertex_training.cli.explain import page as explain_view
from pulumi_vertex_training.cloud.prices import price_file
from pulumi_vertex_training.costs import words as cost_words
from pulumi_vertex_training.kinds.persistent_resource import spec as persistent_resource
from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource
from pulumi_vertex_training.views.explained import ExplainedReplica, Explanation
from pulumi_vertex_training.views.topology import mermaid, svg
from vertex_cluster.frameworks import FRAMEWORKS
from vertex_training.command_line.errors import BAD_INPUT, CommandError, InputError
from vertex_training.command_line.output import Output
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import did_you_mean
from vertex_training.topology.pools import WorkerPoolSpec

_RESOURCE_POOLS = ("resourcePools", "resource_pools")
_DESCRIBED = "give the output of `gcloud ai persistent-resources describe` with at least one resource pool"


def explain(options: argparse.Namespace, output: Output) -> int:
    """Run the command `explain`. Return 2 if there are errors; everything else is printed as well."""
    checks = check_switches.of_options(options)
    draw = _drawing(options, output)
    if options.file is None:
        return framework_page.explain_framework(checks.framework, checks.location, output)
    try:
        value = files.read(options.file)
        resource = _persistent_resource(options.persistent_resource)
    except CommandError as error:
        if not output.as_json:
            raise
        output.document(explain_json.refused(str(error), error.path))
        return error.exit_code
    explained = explanation.explanation_of(
        value,
        options=checks,
        contract=options.contract,
        trial=options.trial,
        settings=check_switches.settings_name(checks.framework),
        framework=checks.framework,
        resource=resource,
    )
    if draw is not None:
        _picture(explained, draw, output)
    elif options.markdown:
        markdown.show(explained, output)
    elif options.replica is not None:
        explained = _one_replica(explained, options.replica, output)
    elif output.as_json:
        explain_json.write(explained, explained.replicas, output.document_part)
    else:
        explain_view.show(explained, output, command=_same_command(options), in_parts=options.cost)
    shows_cost = draw is None and options.replica is None and explained.cost is not None
    if shows_cost and (warning := price_file.load().warning):
        output.note(f"warning: {warning}")
    return BAD_INPUT if explained.errors else 0


Drawing = Callable[[Explanation], str]


def _drawing(options: argparse.Namespace, output: Output) -> Drawing | None:
    """Return the function that draws the requested picture, None without one. Raises InputError."""
    chosen = [name for name in ("--mermaid", "--svg", "--markdown") if getattr(options, name[2:])]
    for switch in chosen:
        if output.as_json or options.replica is not None or options.file is None:
            raise InputError(f"Give {switch} with a FILE, and without --json and --replica.", path=switch)
    if options.svg:
        return _as_svg
    return (lambda explained: mermaid.picture(_pools(explained))) if options.mermaid else None


def _as_svg(explained: Explanation) -> str:
    """Draw the pools with the cost of an hour. A tuning job has none: it is the cost of several trials."""
    has_cost = explained.job is explained.document and explained.cost is not None
    return svg.picture(_pools(explained), hourly=cost_words.hourly(explained.cost) if has_cost else "")


def _pools(explained: Explanation) -> Sequence[WorkerPoolSpec]:
    return explained.spec.worker_pool_specs if explained.spec is not None else ()


def _picture(explained: Explanation, draw: Drawing, output: Output) -> None:
    """Print a picture of the worker pools, and the errors of the job."""
    output.errors(
        [{"message": explain_view.sentence(problem), "path": problem.path} for problem in explained.errors]
    )
    if drawn := draw(explained):
        output.line(drawn)


def _same_command(options: argparse.Namespace) -> str | None:
    """Return a shell command that explains the same, None for standard input."""
    if options.file == files.STANDARD_INPUT:
        return None
    words = ["vertex-training", "explain", options.file]
    for switch, value in (
        ("--contract", None if options.contract == "observed" else options.contract),
        ("--trial", options.trial),
        ("--location", options.location),
        ("--framework", options.framework),
        ("--persistent-resource", options.persistent_resource),
    ):
        words += [] if value is None else [switch, value]
    words += ["--allow-unknown-types"] if options.allow_unknown_types else []
    words += ["--allow-legacy-types"] if options.allow_legacy_types else []
    return shlex.join(words)


def _persistent_resource(name: str | None) -> PersistentResource | None:
    if name is None:
        return None
    value = files.read(name, argument="--persistent-resource")
    if isinstance(value, Mapping) and not any(value.get(key) for key in _RESOURCE_POOLS):
        raise InputError(
            f"{files.called(name)} has no resourcePools; {_DESCRIBED}.", path="--persistent-resource"
        )
    decoded = persistent_resource.read(value)
    if decoded.spec is None:
        raise InputError(
            "; ".join(str(problem) for problem in decoded.problems)
            + f". For {files.called(name)}, {_DESCRIBED}.",
            path="--persistent-resource",
        )
    return persistent_resource.normalise(decoded.spec)


def _one_replica(explained: Explanation, name: str, output: Output) -> Explanation:
    """Print the environment of one replica, as shell assignments or as JSON.

    An unknown name is reported together with the errors of the job.
    """
    found = [replica for replica in explained.replicas if name in replica.names]
    if not found:
        message = _no_such_replica(explained, name)
        if not explained.errors:
            raise InputError(message, path="--replica")
        explained = replace(
            explained, problems=(*explained.problems, Problem(path="--replica", message=message))
        )
    if output.as_json:
        explain_json.write(explained, found, output.document_part)
        return explained
    output.errors(
        [{"message": explain_view.sentence(problem), "path": problem.path} for problem in explained.errors]
    )
    for replica in found:
        legacy = replica.ai_platform
        here = legacy if legacy is not None and name == legacy.name else replica.environment
        for line in explain_view.assignments(here.as_variables().items()):
            output.line(line)
        if here is replica.environment:
            _settings(replica, explained, output)
        elif explained.framework is not None:
            output.note(
                f"To see the settings of {explained.framework}, use the replica's name on Vertex AI: "
                f"--replica {replica.environment.name}."
            )
        for sentence in explain_view.notes_on_slices([replica]):
            output.note(sentence)
    if found:
        for problem in explained.warnings:
            if problem.rule == explanation.SLICE_SETTINGS.name:
                output.note(explain_view.sentence(problem))
    return explained


def _settings(replica: ExplainedReplica, explained: Explanation, output: Output) -> None:
    """Print the framework's settings: variables that are not set yet, or arguments as comments."""
    if not replica.framework_settings or explained.framework is None:
        return
    here = replica.environment.as_variables()
    new = [(name, value) for name, value in replica.framework_settings.items() if here.get(name) != value]
    variables = FRAMEWORKS[explained.framework] == "environment"
    if new:
        output.line(f"# {'Variables' if variables else 'Arguments'} for {explained.framework}:")
    for line in explain_view.assignments(new):
        output.line(line if variables else f"# {line}")


def _no_such_replica(explained: Explanation, name: str) -> str:
    names = [each for replica in explained.replicas for each in replica.names]
    if not names:
        return f"The job has no replica {name!r}. Its replicas cannot be listed because of its errors."
    pool, dash, number = name.rpartition("-")
    count = sum(each.startswith(f"{pool}{dash}") for each in names) if dash and number.isdecimal() else 0
    if count:
        has = f"has replicas 0 to {count - 1}" if count > 1 else "has one replica, 0"
        return f"The job has no replica {name!r}: {pool} {has}."
    return (
        f"The job has no replica {name!r}.{did_you_mean(name, names)} "
        f"Replicas: {explain_view.some_of(names)}."
    )
