"""Define the arguments of the commands that compare, deploy or promote a stack. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

from pulumi_vertex_training.cli.arguments import Parser, Subparsers, json_options


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
        parents=[json_options()],
    )
    plan.add_argument("--stack", "-s", metavar="S", help="stack to preview (default: the selected one)")
    plan.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    plan.add_argument(
        "--refresh", action="store_true", help="read the real state of each resource before the preview"
    )
    plan.add_argument(
        "--markdown", action="store_true", help="print Markdown, for a comment of a pull request"
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
        parents=[json_options()],
    )
    apply.add_argument(
        "--plan", type=Path, metavar="FILE", required=True, help="file that `plan --save-plan FILE` wrote"
    )
    apply.add_argument("--stack", "-s", metavar="S", help="stack to deploy (default: the selected one)")
    apply.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    apply.add_argument(
        "--yes", action="store_true", help="deploy it; without this, only check whether it can be deployed"
    )


def _add_drift(parser: Parser, commands: Subparsers) -> None:
    drift = parser.command(
        commands,
        "drift",
        "show which resources of a stack were changed or deleted outside of Pulumi, and how to repair each",
        parents=[json_options()],
    )
    drift.add_argument("--stack", "-s", metavar="S", help="stack to read (default: the selected one)")
    drift.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    drift.add_argument("--markdown", action="store_true", help="print Markdown, for an issue or a comment")
    drift.add_argument("--exit-code", action="store_true", help="exit with code 1 if anything has drifted")


def _add_promote(parser: Parser, commands: Subparsers) -> None:
    promote = parser.command(
        commands,
        "promote",
        "let a stack run exactly the images and packages that another stack has run; to roll back, name an "
        "earlier run",
        parents=[json_options()],
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
    promote.add_argument(
        "--cwd", "-C", type=Path, metavar="DIR", help="folder of the Pulumi program (default: this one)"
    )
    promote.add_argument(
        "--markdown", action="store_true", help="print Markdown, for a comment of a pull request"
    )
