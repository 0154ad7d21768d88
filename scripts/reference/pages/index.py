"""The index of the reference: all pages in groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scripts.arguments.catalog import RESOURCES
from scripts.reference.markdown import HEADER, REFERENCE, filled, items, relative
from scripts.reference.pages import (
    commands,
    configuration,
    functions,
    json_page,
    policies,
    resources,
    rules,
    variables,
)

PAGE = REFERENCE / "index.md"

_GROUPS: tuple[tuple[str, tuple[tuple[Path, str], ...]], ...] = (
    (
        "Programs",
        (
            (functions.PAGE, "Functions, results and settings of `pulumi_vertex_training`."),
            (configuration.PAGE, "Keys of a stack's configuration."),
            (functions.TESTING_PAGE, "The pytest fixture of the emulator, and its controls from Python."),
        ),
    ),
    (
        "Command line",
        (
            (commands.PAGE, "Every command and option of `vertex-training`, and the exit codes."),
            (commands.EMULATOR_PAGE, "Every command and option of `vertex-training emulator`."),
            (json_page.PAGE, "What `--json` prints, as a JSON Schema."),
        ),
    ),
    (
        "Checks",
        (
            (rules.PAGE, "Every rule, with the finding about a declaration that breaks it."),
            (policies.PAGE, "The policies of the pack, and their settings."),
        ),
    ),
    (
        "Training code",
        (
            (functions.CLUSTER_PAGE, "`vertex_cluster`: role, rank and peers of a replica."),
            (variables.PAGE, "Variables that a replica gets, and those that the tools read."),
        ),
    ),
)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page."""
    yield PAGE, "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    yield f"{HEADER}# Reference"
    yield ("Every argument, function, command, key, rule and variable, made from the code of this version.")
    yield "## Resources"
    links = [f"[{resource.name}]({relative(PAGE, resource.page)})" for resource in RESOURCES]
    yield filled(f"{', '.join(links)}.")
    yield f"### {resources.EVERYWHERE}"
    yield (
        "* `project`: *string*. Project id. Default: the stack's project.\n"
        "* `location`: *string*. Region. Default: the stack's location. Rules:"
        f" {rules.links(PAGE, 'CustomJob.location')}\n"
        "* `opts`: *`pulumi.ResourceOptions`*. Pulumi's options of the resource."
    )
    yield (
        "A change of project or location replaces the resource (a job runs again), but not a staged file,\n"
        "folder or package. Instead of a class of arguments you can pass a dictionary."
    )
    for title, listed in _GROUPS:
        yield f"## {title}"
        entries = [(f"[{_title(page)}]({relative(PAGE, page)})", "", text) for page, text in listed]
        yield items(PAGE, entries).rstrip("\n")


def _title(page: Path) -> str:
    titles = {
        functions.PAGE: "Functions",
        configuration.PAGE: "Stack configuration",
        functions.TESTING_PAGE: "pytest fixtures and Control",
        commands.PAGE: "Commands",
        commands.EMULATOR_PAGE: "Commands of the emulator",
        rules.PAGE: "Rules",
        policies.PAGE: "Policies",
        functions.CLUSTER_PAGE: "vertex_cluster",
        variables.PAGE: "Environment variables",
    }
    return titles.get(page, "JSON")
