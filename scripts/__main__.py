"""Run a chore: `python -m scripts CHORE`. `scripts/chore` finds a Python for it; `make CHORE` is shorter."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import shlex
import sys
from collections.abc import Sequence

from scripts import environment, plugin, quality, stack
from scripts.layout import layout
from scripts.processes import run_openly
from scripts.pulumi_cli import installed
from scripts.release import command as release
from scripts.release import version
from scripts.report import ChoreError, Report
from scripts.setup import cleaning, lock_files, python_packages
from scripts.site import command as site
from scripts.tools import policy_pack


def main(arguments: Sequence[str]) -> int:
    """Run a chore and return its exit code. The arguments of `pulumi` follow `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = _parser().parse_args(arguments[:end])
    report = Report(sys.stderr if options.chore in ("activate", "pulumi") else sys.stdout)
    try:
        return _run(options, report, arguments[end + 1 :])
    except ChoreError as error:
        sys.stdout.flush()
        sys.stderr.write(f"\n{error}\n")
        return error.exit_code
    except OSError as error:
        sys.stdout.flush()
        sys.stderr.write(f"\n{error.filename or 'A file or process'}: {error.strerror or error}.\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        return 130


def _run(options: argparse.Namespace, report: Report, words: Sequence[str]) -> int:
    here = dataclasses.replace(layout(), folder=options.folder)
    extra = shlex.split(options.args)
    match options.chore:
        case "up":
            return stack.up(here, report, stack=options.stack, arguments=extra)
        case "preview":
            return stack.preview(here, report, stack=options.stack, arguments=extra)
        case "pulumi":
            return stack.plain(here, report, stack=options.stack, arguments=words)
        case "down":
            return stack.down(here, report, stack=options.stack, arguments=extra)
        case "logs":
            return stack.logs(here, report, stack=options.stack, arguments=extra)
        case "unlock":
            return stack.unlock(here, report, stack=options.stack, force=bool(options.force))
        case "activate":
            sys.stdout.write(stack.activate(here, report, stack=options.stack) + "\n")
        case "clean":
            return cleaning.clean(here, report)
        case "setup":
            python_packages.ensure(here, report, development=True)
            installed.ensure(here, report)
        case "plugin":
            return plugin.install(here, report)
        case "tools":
            python_packages.ensure(here, report, development=True)
            quality.install_tools(here, report)
        case "policies":
            python_packages.ensure(here, report, development=False)
            policy_pack.ensure(here, report)
        case "test":
            return quality.test(here, report, arguments=extra)
        case "bench":
            return quality.bench(here, report, arguments=extra)
        case "soak":
            return quality.soak(here, report, arguments=extra)
        case "suites":
            return quality.suites(here, report, arguments=extra)
        case "screenshots":
            return quality.screenshots(here, report, arguments=extra)
        case "docs":
            return site.docs(here, report, arguments=extra)
        case "verify-google":
            named = [
                f"--{name}={getattr(options, name)}" for name in ("project", "budget", "location", "clean")
            ]
            return quality.verify_google(here, report, arguments=[*named, *extra])
        case "check":
            return quality.check(here, report)
        case "format":
            return quality.format_code(here, report)
        case "generate":
            python_packages.ensure(here, report, development=True)
            return run_openly([here.python, "-m", "scripts.arguments"], cwd=here.root, env=os.environ)
        case "descriptors":
            python_packages.ensure(here, report, development=True)
            module = "scripts.emulator_files.descriptors"
            return run_openly([here.python, "-m", module], cwd=here.root, env=os.environ)
        case "release":
            return release.release(here, report)
        case "version":
            today = datetime.datetime.now(datetime.timezone.utc).date()
            return version.prepare(here, report, version=options.version, today=today)
        case "lock":
            return lock_files.refresh(here, report, upgrade=bool(options.upgrade))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/chore", description="The chores of this clone.")
    chores = [
        "up",
        "preview",
        "pulumi",
        "down",
        "logs",
        "unlock",
        "activate",
        "setup",
        "clean",
        "plugin",
        "tools",
        "policies",
        "test",
        "bench",
        "soak",
        "suites",
        "screenshots",
        "docs",
        "verify-google",
        "check",
        "format",
        "lock",
        "generate",
        "descriptors",
        "release",
        "version",
    ]
    parser.add_argument("chore", choices=chores)
    parser.add_argument("--stack", default=environment.LOCAL_STACK)
    parser.add_argument("--folder", default="", help="folder of the Pulumi project, such as environment")
    parser.add_argument("--args", default="", help="further arguments for pulumi or pytest, in one string")
    parser.add_argument("--force", default="", help="unlock: if not empty, remove the lock in any case")
    parser.add_argument("--upgrade", default="", help="lock: if not empty, take newer versions")
    parser.add_argument("--version", default="", help="version: the new one")
    parser.add_argument("--project", default="", help="verify-google: the project that pays")
    parser.add_argument("--budget", default="", help="verify-google: the dollars that may be spent")
    parser.add_argument("--location", default="", help="verify-google: the region")
    parser.add_argument("--clean", default="", help="verify-google: if not empty, only delete what is left")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
