"""Entry point of `vertex-training`. Every failure becomes one message, never a traceback."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from pulumi_vertex_training.cli import parser
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.timeouts import ORDINARY, Timeouts, timeouts_of
from pulumi_vertex_training.views import output as output_module
from pulumi_vertex_training.views.failure import FAILED, CommandError, InputError
from pulumi_vertex_training.views.output import Output
from vertex_training.timeouts import VARIABLE

_INTERRUPTED = 130
_DEBUG = "VERTEX_TRAINING_DEBUG"

Command = Callable[[argparse.Namespace, Output], "int | None"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return 0, 1 (a failure), 2 (bad usage or input), or 130 after Ctrl-C."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks how the command line may go on
        from pulumi_vertex_training.cli.completion import answer

        answer.complete(parser.build())
    words = list(sys.argv[1:] if arguments is None else arguments)
    output = output_module.for_streams(as_json="--json" in words)
    try:
        options = parser.parse(words)
        options.words = words
        options.timeouts = _timeouts(options)
        code = _command(options)(options, output) or 0
        sys.stdout.flush()
        return code
    except CommandError as error:
        return _end(output, str(error), error.exit_code, path=error.path)
    except CloudError as error:
        return _end(output, str(error), FAILED, reason=error.reason)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Without this, Python would print an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        what = f"{type(error).__name__}: {error}".split("\n", 1)[0]
        return _end(output, f"{what}. Set {_DEBUG}=1 to get a traceback.", FAILED)


def _end(output: Output, message: str, code: int, *, path: str = "", reason: str = "") -> int:
    entry = {"message": message, **({"path": path} if path else {}), **({"reason": reason} if reason else {})}
    output.errors([entry])
    return code


def _timeouts(options: argparse.Namespace) -> Timeouts:
    """Return the timeouts of this process. Raises InputError for a wrong scale, which `doctor` reports."""
    try:
        own = timeouts_of(os.environ)
    except ValueError as error:
        if options.command == "doctor":
            return ORDINARY
        raise InputError(str(error), path=VARIABLE) from None
    return own.for_emulator(options.data_dir) if hasattr(options, "data_dir") else own


def _command(options: argparse.Namespace) -> Command:
    """Import the module of the command, and only this one, and return the command's function."""
    if options.command == "emulator":
        action = options.fault_action if options.action == "fault" else ""
        if options.action == "replica" and options.replica_action == "forward":
            action = "forward"
        module, function = _EMULATOR_COMMANDS[f"{options.action} {action}".rstrip()]
    else:
        module, function = _COMMANDS[options.command]
    command: Command = getattr(importlib.import_module(f".{module}", __package__), function)
    return command


_COMMANDS = {
    "explain": ("explain.command", "explain"),
    "diff": ("explain.diff", "diff"),
    "placement": ("placement.command", "placement"),
    "doctor": ("doctor.command", "doctor"),
    "jobs": ("jobs.listing", "list_jobs"),
    "runs": ("runs.command", "list_runs"),
    "top": ("live.top", "top"),
    "watch": ("live.watch", "watch"),
    "tensorboard": ("tensorboard.command", "tensorboard"),
    "completion": ("completion.command", "completion"),
    "status": ("jobs.commands", "status"),
    "logs": ("jobs.commands", "print_logs"),
    "cancel": ("jobs.commands", "cancel"),
    "import": ("jobs.commands", "import_job"),
    "preflight": ("preflight.command", "preflight"),
    "plan": ("plan.command", "plan"),
    "apply": ("apply.command", "apply"),
    "drift": ("drift.command", "drift"),
    "promote": ("promote.command", "promote"),
    "prices": ("prices.command", "prices"),
    "gc": ("gc.command", "collect"),
    "ui": (".ui.command", "serve"),
}
"""Module and function of each command. The dashboard is a package beside this one."""

_EMULATOR_COMMANDS = {
    "start": ("emulator.commands", "start"),
    "stop": ("emulator.commands", "stop"),
    "status": ("emulator.commands", "status"),
    "env": ("emulator.commands", "env"),
    "reset": ("emulator.commands", "reset"),
    "export": ("emulator.commands", "export"),
    "import": ("emulator.commands", "import_state"),
    "fault add": ("emulator.faults", "add"),
    "fault list": ("emulator.faults", "list_faults"),
    "fault clear": ("emulator.faults", "clear"),
    "requests": ("emulator.faults", "requests"),
    "clock": ("emulator.settings", "clock"),
    "quota": ("emulator.settings", "quota"),
    "deny": ("emulator.permissions", "deny"),
    "allow": ("emulator.permissions", "allow"),
    "service": ("emulator.permissions", "service"),
    "replica": ("emulator.replicas", "replica"),
    "replica forward": ("emulator.forward", "forward"),
    "start-delay": ("emulator.settings", "setting"),
    "persistent-resource-delay": ("emulator.settings", "setting"),
    "unknown-types": ("emulator.settings", "setting"),
    "contract": ("emulator.settings", "setting"),
    "replica-limit": ("emulator.settings", "setting"),
    "network": ("emulator.settings", "setting"),
}
"""Module and function of each command of `emulator`."""
