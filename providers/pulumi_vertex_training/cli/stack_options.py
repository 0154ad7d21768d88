"""Define the arguments of the commands that compare, deploy or promote a stack. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

from pulumi_vertex_training.cli.arguments import (
    Parser,
    Subparsers,
    folder_options,
    json_options,
    report_options,
    stack_options,
)


def add_to(parser: Parser, commands: Subparsers) -> None:
    """Add `plan`, `apply`, `drift` and `promote`."""
    _add_plan(parser, commands)
    _add_apply(parser, commands)
    _add_drift(parser, commands)
    _add_promote(parser, commands)


def _add_plan(parser: Parser, commands: Subparsers) -> None:
    plan = parser.command(
        commands,
        "plan",
        "preview a stack, and show the effect on each resource and the live jobs that will be cancelled",
        parents=[report_options(), stack_options("preview")],
    )
    plan.add_argument(
        "--refresh", action="store_true", help="read the real state of each resource before the preview"
    )
    plan.add_argument(
        "--save-plan",
        type=Path,
        metavar="FILE",
        help="write the plan into a file that `vertex-training apply --plan FILE` deploys",
    )
    plan.add_argument("--exit-code", action="store_true", help="exit with code 1 if anything changes")


def _add_apply(parser: Parser, commands: Subparsers) -> None:
    apply = parser.command(
        commands,
        "apply",
        "deploy a saved plan, unless the program, the configuration or the state has changed since",
        parents=[json_options(), stack_options("deploy")],
    )
    apply.add_argument(
        "--plan", type=Path, metavar="FILE", required=True, help="file that `plan --save-plan FILE` wrote"
    )
    apply.add_argument(
        "--yes", action="store_true", help="deploy it; without this, only check whether it can be deployed"
    )


def _add_drift(parser: Parser, commands: Subparsers) -> None:
    drift = parser.command(
        commands,
        "drift",
        "show which resources of a stack were changed or deleted outside of Pulumi, and how to repair each",
        parents=[report_options(), stack_options("read")],
    )
    drift.add_argument("--exit-code", action="store_true", help="exit with code 1 if anything has drifted")


def _add_promote(parser: Parser, commands: Subparsers) -> None:
    promote = parser.command(
        commands,
        "promote",
        "let a stack run exactly the images and packages that another stack has run; to roll back, name an "
        "earlier run",
        parents=[report_options(), folder_options()],
    )
    promote.add_argument("--from", dest="source", metavar="S", required=True, help="stack that has run them")
    promote.add_argument("--to", metavar="S", required=True, help="stack that is to run them")
    promote.add_argument(
        "--run",
        metavar="RUN",
        help="run to promote: NAME/NUMBER or NUMBER as `vertex-training runs NAME` prints it, or the id of "
        "its job (default: the last run of each job)",
    )
    promote.add_argument("--yes", action="store_true", help="promote; without it, only show the plan")
