"""`preflight`: look up access, quota, images, buckets and networks for the jobs of a file or a stack."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli import check_switches, files
from pulumi_vertex_training.cli.explain import documents
from pulumi_vertex_training.cli.teams.plan.preview import preview
from pulumi_vertex_training.cli.teams.plan.view import of_resource
from pulumi_vertex_training.cli.teams.preflight import view
from pulumi_vertex_training.cli.teams.preflight.places import Place, places_of, report_of
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.documents.document import entry_of
from pulumi_vertex_training.preflight import before_submission
from pulumi_vertex_training.preflight.scope import Scope
from pulumi_vertex_training.preflight.subject import Subject
from pulumi_vertex_training.views import target
from vertex_training.command_line.answer import Answer
from vertex_training.command_line.errors import BAD_INPUT, InputError
from vertex_training.command_line.output import Output
from vertex_training.findings.problems import errors

_OF_FILES = {
    "endpoint": "a stack has it in its configuration",
    "project": "a stack has it in its configuration",
    "location": "a stack has it in its configuration",
    "framework": "a program has it in its jobs",
    "allow_unknown_types": "a program has it in its jobs",
    "allow_legacy_types": "a program has it in its jobs",
}
"""Options that only a file needs, and where a stack has them."""


def preflight(options: argparse.Namespace, output: Output) -> Answer | int:
    """Run the command `preflight`. The exit code is 2 for a job in error, which is not looked up."""
    if options.file is not None and (options.stack is not None or options.cwd is not None):
        raise InputError("Give a FILE, or --stack S and --cwd DIR, not both.", path="FILE")
    if options.file is not None:
        return _of_file(options, output)
    return _of_stack(options, output)


def _of_file(options: argparse.Namespace, output: Output) -> Answer | int:
    document = documents.read_document(files.read(options.file), options=check_switches.of_options(options))
    found = errors(check_switches.all_with_flags(document.problems))
    if document.spec is None or found:
        output.errors([{"message": str(problem), "path": problem.path} for problem in found])
        return BAD_INPUT
    endpoint = target.resolve(
        target.Choice(
            kind=options.endpoint,
            project=options.project,
            location=options.location or document.location,
            data_dir=options.data_dir,
            timeouts=options.timeouts,
        )
    )
    subject = Subject(
        name="", collection=entry_of(document).collection, spec=document.spec, unknown=document.damaged
    )
    place = Place(connect=lambda: endpoint, scope=_scope(endpoint, (subject,)))
    return _report([place], files.called(options.file), options, output)


def _of_stack(options: argparse.Namespace, output: Output) -> Answer | int:
    for name, place in _OF_FILES.items():
        if getattr(options, name):
            switch = f"--{name.replace('_', '-')}"
            raise InputError(f"{switch} is for a FILE: {place}. Leave it out, or give a FILE.", path=switch)
    folder = pulumi_command.folder_of(options.cwd)
    if sys.stderr.isatty():
        output.note("Previewing ...")
    off = {before_submission.VARIABLE: before_submission.OFF}
    previewed = preview(folder, options.stack, timeouts=options.timeouts, environment=off)
    if previewed.plan.errors:
        output.errors(
            [
                {"message": of_resource(one.resource, one.message), "path": one.resource}
                for one in previewed.plan.errors
            ]
        )
        return BAD_INPUT
    title = "/".join(part for part in (previewed.plan.project, previewed.plan.stack) if part)
    places = places_of(previewed, options.timeouts, data_dir=options.data_dir)
    return _report(places, f"stack {title}", options, output)


def _scope(endpoint: Endpoint, subjects: tuple[Subject, ...]) -> Scope:
    return Scope(
        project=endpoint.project,
        location=endpoint.location,
        is_emulator=endpoint.is_emulator,
        subjects=subjects,
        data_dir=None if endpoint.data_dir is None else Path(endpoint.data_dir),
    )


def _report(places: Sequence[Place], title: str, options: argparse.Namespace, output: Output) -> Answer:
    seconds = options.timeout or options.timeouts.preflight
    if sys.stderr.isatty() and places:
        output.note(f"Looking up, {seconds:g} s at most ...")
    return view.PreflightAnswer(report=report_of(places, title, seconds=seconds))
