"""The entry point of `vertex-training`: one clean message for whatever goes wrong, never a traceback."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from pulumi_vertex_training.cli import parser
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.views import output as output_module
from pulumi_vertex_training.views.failure import FAILED, CommandError
from pulumi_vertex_training.views.output import Output

_INTERRUPTED = 130
_DEBUG = "VERTEX_TRAINING_DEBUG"

Command = Callable[[argparse.Namespace, Output], "int | None"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code: 0, 1 (a failure), 2 (bad usage or input), 130 after Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    output = output_module.for_streams(as_json="--json" in words)
    try:
        options = parser.parse(words)
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
        # The reader, such as `head`, has seen enough. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        what = f"{type(error).__name__}: {error}".split("\n", 1)[0]
        return _end(output, f"{what}. With {_DEBUG}=1 the command says where.", FAILED)


def _end(output: Output, message: str, code: int, *, path: str = "", reason: str = "") -> int:
    entry = {"message": message, **({"path": path} if path else {}), **({"reason": reason} if reason else {})}
    output.errors([entry])
    return code


def _control_command(options: argparse.Namespace) -> Command | None:
    """`emulator clock`, `quota`, `replica`, `export`, `import` and the settings."""
    if options.action in ("export", "import"):
        from pulumi_vertex_training.cli.emulator import commands as emulator_commands

        return emulator_commands.export if options.action == "export" else emulator_commands.import_state
    from pulumi_vertex_training.cli.emulator import settings as emulator_settings

    actions: dict[str, Command] = {
        "clock": emulator_settings.clock,
        "quota": emulator_settings.quota,
        "start-delay": emulator_settings.start_delay,
        "persistent-resource-delay": emulator_settings.persistent_resource_delay,
        "unknown-types": emulator_settings.unknown_types,
        "contract": emulator_settings.contract,
        "replica-limit": emulator_settings.replica_limit,
        "replica": emulator_settings.replica,
    }
    return actions.get(options.action)


def _command(options: argparse.Namespace) -> Command:
    if options.command == "emulator":
        from pulumi_vertex_training.cli.emulator import commands as emulator_commands

        actions: dict[str, Command] = {
            "start": emulator_commands.start,
            "stop": emulator_commands.stop,
            "status": emulator_commands.status,
            "env": emulator_commands.env,
            "reset": emulator_commands.reset,
        }
        if options.action in actions:
            return actions[options.action]
        if (control := _control_command(options)) is not None:
            return control
        from pulumi_vertex_training.cli.emulator import faults as emulator_faults

        if options.action == "requests":
            return emulator_faults.requests
        faults: dict[str, Command] = {
            "add": emulator_faults.add,
            "list": emulator_faults.list_faults,
            "clear": emulator_faults.clear,
        }
        return faults[options.fault_action]
    if options.command == "explain":
        from pulumi_vertex_training.cli.explain import command as explain_command

        return explain_command.explain
    if options.command == "diff":
        from pulumi_vertex_training.cli.explain import diff as diff_command

        return diff_command.diff
    if options.command == "placement":
        from pulumi_vertex_training.cli import placement_command

        return placement_command.placement
    if options.command == "gc":
        from pulumi_vertex_training.cli.gc import command as gc_command

        return gc_command.collect
    if options.command == "doctor":
        from pulumi_vertex_training.cli import doctor as doctor_command

        return doctor_command.doctor
    from pulumi_vertex_training.cli.jobs import commands as job_commands
    from pulumi_vertex_training.cli.jobs import listing as jobs_command

    commands: dict[str, Command] = {
        "jobs": jobs_command.list_jobs,
        "status": job_commands.status,
        "logs": job_commands.print_logs,
        "cancel": job_commands.cancel,
        "import": job_commands.import_job,
    }
    return commands[options.command]
