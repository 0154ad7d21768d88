"""Chores of a stack: up, preview, down, logs, unlock, activate."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from scripts import environment, local_emulator, losses
from scripts.layout import Layout
from scripts.package_modules import loaded
from scripts.processes import run_openly, run_quietly
from scripts.pulumi_cli import backend_files, backend_locks, installed
from scripts.pulumi_cli.installed import PulumiCli
from scripts.report import ChoreError, Report
from scripts.setup import python_packages

_COMMAND = "vertex-training"


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A clone that is set up for a stack."""

    cli: PulumiCli
    env: dict[str, str]


def prepare(layout: Layout, report: Report, *, stack: str) -> Ready:
    """Prepare packages, CLI, environment and the stack itself for a `pulumi` command."""
    if not _locks(layout, stack):
        repair_files(layout, report, stack)
    ready = _tools(layout, report, stack)
    _ensure_stack(layout, report, ready, stack)
    return ready


def activate(layout: Layout, report: Report, *, stack: str) -> str:
    """Return shell code that makes plain `pulumi` use the stack. Only `local` is created if missing."""
    ready = (
        prepare(layout, report, stack=stack)
        if stack == environment.LOCAL_STACK
        else _tools(layout, report, stack)
    )
    return environment.shell_code(layout, ready.cli, stack=stack)


def _tools(layout: Layout, report: Report, stack: str) -> Ready:
    python_packages.ensure(layout, report, development=False)
    cli = installed.ensure(layout, report)
    return Ready(cli=cli, env=environment.pulumi_environment(layout, cli, stack=stack))


def up(layout: Layout, report: Report, *, stack: str, arguments: Sequence[str]) -> int:
    """Deploy. The stack `local` needs no confirmation; for others, `pulumi up` asks."""
    report.line(target(layout, stack))
    release_if_killed(layout, report, stack)
    ready = prepare(layout, report, stack=stack)
    if stack == environment.LOCAL_STACK:
        local_emulator.stop_foreign(layout, report)
    consent = ["--yes", "--skip-preview"] if stack == environment.LOCAL_STACK else []
    printing = _printing_commands(layout, ready, stack=stack)
    command = ["up", "--stack", stack, *consent, *arguments]
    if stack != environment.LOCAL_STACK or layout.folder:
        return _become(layout, printing, command)
    code = run_openly([ready.cli.program, *command], cwd=layout.project, env=printing.env)
    if code == 0 and "--json" not in arguments:
        program = printing.env.get(environment.COMMAND_VARIABLE, _COMMAND)
        report.line(f"In the browser: {program} ui --open")
        report.line(f"The job's log:  {program} logs train")
    return code


def preview(layout: Layout, report: Report, *, stack: str, arguments: Sequence[str]) -> int:
    """Show what `up` would change, property by property."""
    if "--json" not in arguments:
        report.line(target(layout, stack))
    ready = prepare(layout, report, stack=stack)
    printing = _printing_commands(layout, ready, stack=stack)
    return _become(layout, printing, ["preview", "--diff", "--stack", stack, *arguments])


def plain(layout: Layout, report: Report, *, stack: str, arguments: Sequence[str]) -> int:
    """Run `pulumi` with arguments on the stack, which a command in the arguments may name again."""
    ready = _printing_commands(layout, prepare(layout, report, stack=stack), stack=stack)
    return _become(layout, replace(ready, env={**ready.env, "PULUMI_STACK": stack}), arguments)


def down(
    layout: Layout, report: Report, *, stack: str, arguments: Sequence[str], stdin: TextIO | None = None
) -> int:
    """Delete everything in the stack. For `local`, stop the emulator afterwards.

    `pulumi destroy` asks, except for `local`: there we ask on a terminal if an environment is lost or in use.
    """
    release_if_killed(layout, report, stack)
    repair_files(layout, report, stack)
    if is_empty(layout, stack):
        report.line(f"Stack {stack} has no resources.")
    else:
        ready = prepare(layout, report, stack=stack)
        if environment.has_own_backend() and (
            lost := losses.warning(layout.state, project=project_name(layout.project), stack=stack)
        ):
            report.line(lost)
            if stack == environment.LOCAL_STACK and "--yes" not in arguments:
                _confirm_loss(stdin or sys.stdin)
        consent = ["--yes", "--skip-preview"] if stack == environment.LOCAL_STACK else []
        command: list[str | Path] = [ready.cli.program, "destroy", "--stack", stack, *consent, *arguments]
        code = run_openly(command, cwd=layout.project, env=ready.env)
        if code:
            return code
    if stack != environment.LOCAL_STACK:
        return 0
    return local_emulator.stop(layout, report)


def _confirm_loss(stdin: TextIO, environ: Mapping[str, str] = os.environ) -> None:
    """Ask on a terminal, unless in CI. Raises ChoreError without consent."""
    if not stdin.isatty() or environ.get("CI"):
        return
    sys.stdout.write("Delete it? [y/N] ")
    sys.stdout.flush()
    if stdin.readline().strip().lower() not in ("y", "yes"):
        raise ChoreError("Nothing was deleted.")


def logs(layout: Layout, report: Report, *, stack: str, arguments: Sequence[str]) -> int:
    """Run the command in the stack's output `logs`, with further arguments such as --follow."""
    ready = prepare(layout, report, stack=stack)
    shown = run_quietly(
        [ready.cli.program, "stack", "output", "logs", "--stack", stack],
        cwd=layout.project,
        env=ready.env,
        failure=f"The stack {stack} has no output `logs`",
        remedy="Run `make up` first.",
    )
    command = [*shlex.split(shown), *arguments]
    program = shutil.which(command[0], path=ready.env["PATH"]) if command else None
    if program is None:
        raise ChoreError(f"The stack's output `logs` is {shown!r}, which is not a command.")
    return run_openly([program, *command[1:]], cwd=layout.project, env=ready.env)


def unlock(layout: Layout, report: Report, *, stack: str, force: bool) -> int:
    """Remove the lock of a killed `pulumi` and end its orphaned processes, unless it is running."""
    held = _locks(layout, stack)
    for lock in held:
        if lock.process_runs is not False and not force:
            state = "is running" if lock.process_runs else "cannot be checked from this host"
            raise ChoreError(
                f"Stack {stack} is locked by {lock}. That process {state}: wait for it, or end it.\n"
                "If you are sure that it has ended, run `make unlock FORCE=1`."
            )
    for lock in held:
        if lock.is_empty:
            for name in (lock.file.name, f"{lock.file.name}.attrs"):
                lock.file.with_name(name).unlink(missing_ok=True)
    held = [lock for lock in held if not lock.is_empty]
    with report.step("Orphaned processes") as step:
        processes = backend_locks.orphaned_processes(layout.pulumi_home)
        backend_locks.end(processes)
        step.done(f"ended {len(processes)}" if processes else "none", idle=not processes)
    repair_files(layout, report, stack)
    if not held and environment.has_own_backend():
        report.line(f"Stack {stack} is not locked.")
        if _pending(_deployment(layout, stack)):
            forget_interrupted(layout, report, prepare(layout, report, stack=stack), stack=stack)
        return 0
    return remove_lock(layout, report, prepare(layout, report, stack=stack), stack=stack)


def remove_lock(layout: Layout, report: Report, ready: Ready, *, stack: str) -> int:
    """Remove the lock, and the record of interrupted operations that the next `up` completes."""
    cancel: list[str | Path] = [ready.cli.program, "cancel", "--yes", "--stack", stack]
    code = run_openly(cancel, cwd=layout.project, env=ready.env)
    if code == 0 and (not environment.has_own_backend() or _pending(_deployment(layout, stack))):
        forget_interrupted(layout, report, ready, stack=stack)
    return code


def repair_files(layout: Layout, report: Report, stack: str) -> None:
    """Repair the files of our own backend that a kill left unusable. The stack must not be locked.

    Raises ChoreError if a state has no backup.
    """
    if not environment.has_own_backend():
        return
    root = layout.state / ".pulumi"
    damages = backend_files.damages(root, project=project_name(layout.project), stack=stack)
    if not damages:
        return
    with report.step("State files") as step:
        lost = backend_files.repair(damages)
        for damage in damages:
            if damage.backup is not None:
                step.note(f"{damage}: restored")
        if lost:
            raise ChoreError(
                f"{lost[0]}. If the stack has no resources, delete the file. Otherwise restore it from a "
                "copy, or delete it and adopt the resources with `vertex-training import`."
            )
        step.done(f"repaired {len(damages)} that a killed pulumi left")


_TOKENS = loaded("vertex_training/type_tokens.py")


def forget_interrupted(layout: Layout, report: Report, ready: Ready, *, stack: str) -> None:
    """Remove interrupted operations from the state, unless one may have made an unknown resource.

    Otherwise Pulumi would warn about each of them in every run. Our resources find what they began to create.
    A resource of another provider that the state does not have must be looked for first. They are removed as
    in Pulumi's guide, by export and import, which drops all of them
    (https://www.pulumi.com/docs/iac/operations/troubleshooting/interrupted-updates/).
    """

    def run(*arguments: str | Path) -> None:
        command = [ready.cli.program, "stack", *arguments, "--stack", stack]
        failure = "The interrupted operations cannot be removed from the state"
        run_quietly(command, cwd=layout.project, env=ready.env, failure=failure)

    with report.step("State") as step, tempfile.TemporaryDirectory(dir=_existing(layout.local)) as folder:
        step.progress("removing the interrupted operations")
        file = Path(folder, "state.json")
        run("export", "--file", file)
        state = json.loads(file.read_text())
        interrupted, unknown = _pending(state["deployment"]), _unknown(state["deployment"])
        if unknown:
            for urn in unknown:
                step.note(f"{urn} may exist")
            step.note(
                "Delete or import what exists there, then run: "
                f"pulumi refresh --clear-pending-creates --stack {stack}"
            )
            step.done(f"kept {len(interrupted)} interrupted operations")
        elif interrupted:
            run("import", "--file", file)
            step.done(
                f"removed {len(interrupted)} interrupted operations; the next `make up` finds what they made"
            )
        else:
            step.done("no interrupted operation", idle=True)


def _pending(deployment: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return list((deployment or {}).get("pending_operations") or ())


def _unknown(deployment: Mapping[str, Any]) -> list[str]:
    """Return the URNs of resources that may exist and are unknown to the state."""
    known = {resource["urn"] for resource in deployment.get("resources") or () if resource.get("id")}
    return [
        one["resource"]["urn"]
        for one in _pending(deployment)
        if one.get("type") == "creating"
        and not _TOKENS.resource_of(str(one["resource"].get("type", "")))
        and one["resource"]["urn"] not in known
    ]


def _existing(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def release_if_killed(layout: Layout, report: Report, stack: str) -> None:
    """Remove the lock of a `pulumi` that was killed on this machine. Raises ChoreError for any other lock."""
    refuse_if_locked(layout, stack)
    held = _locks(layout, stack)
    for lock in held:
        report.line(f"Stack {stack} is locked by {lock}, which was killed. Removing the lock.")
    if held and unlock(layout, report, stack=stack, force=False):
        raise ChoreError(f"The lock of stack {stack} cannot be removed. See the message above.")


def refuse_if_locked(layout: Layout, stack: str) -> None:
    """Explain a lock of a running process, or of another host, before Pulumi fails. Raises ChoreError."""
    for lock in _locks(layout, stack):
        if lock.process_runs:
            raise ChoreError(f"Stack {stack}: another pulumi is running, {lock}. Wait for it to end.")
        if lock.process_runs is None:
            raise ChoreError(
                f"Stack {stack} is locked by {lock}. If that process has ended, run `make unlock FORCE=1`."
            )


def is_empty(layout: Layout, stack: str) -> bool:
    """Return whether our own backend shows no resources and no pending operations of the stack."""
    if not environment.has_own_backend():
        return False
    if not _state_file(layout, stack).exists():
        return True
    deployment = _deployment(layout, stack)
    return (
        deployment is not None
        and not deployment.get("resources")
        and not deployment.get("pending_operations")
    )


def target(layout: Layout, stack: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return a line about where the stack deploys, by its configuration file."""
    try:
        text = (layout.project / f"Pulumi.{stack}.yaml").read_text()
    except OSError:
        text = ""

    def value(key: str) -> str | None:
        match = re.search(rf"^\s+{key}:\s*[\"']?([^\s\"'#]+)", text, re.MULTILINE)
        return match[1] if match else None

    if value("vertex-training:endpoint") == "google":
        project = value("vertex-training:project") or value("gcp:project") or "not set"
        location = value("vertex-training:location") or value("gcp:region") or "not set"
        return f"Stack {stack} deploys to Google Cloud: project {project}, location {location}."
    folder = value("vertex-training:dataDir") or environ.get(environment.DATA_VARIABLE) or layout.emulator
    return f"Stack {stack} deploys to the emulator on this machine: data in {folder}."


def project_name(root: Path) -> str:
    """Return the project's name from the line `name:` in Pulumi.yaml. Raises ChoreError without one."""
    try:
        text = (root / "Pulumi.yaml").read_text()
    except OSError:
        raise ChoreError(f"{root} has no Pulumi.yaml. FOLDER is the folder of a Pulumi project.") from None
    match = re.search(r"^name:\s*(\S+)", text, re.MULTILINE)
    if not match:
        raise ChoreError(f"{root / 'Pulumi.yaml'} has no line `name:`.")
    return match[1]


def _locks(layout: Layout, stack: str) -> list[backend_locks.Lock]:
    if not environment.has_own_backend():
        return []
    return backend_locks.locks(layout.state, project_name(layout.project), stack)


def _state_file(layout: Layout, stack: str) -> Path:
    return layout.state / ".pulumi" / "stacks" / project_name(layout.project) / f"{stack}.json"


def _deployment(layout: Layout, stack: str) -> dict[str, Any] | None:
    """Return the stack's last state in our own backend, None if it cannot be read."""
    try:
        latest = json.loads(_state_file(layout, stack).read_text())["checkpoint"].get("latest")
        return dict(latest or {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _ensure_stack(layout: Layout, report: Report, ready: Ready, stack: str) -> None:
    """Create the stack if it is missing. Only `local` is selected for plain `pulumi`."""
    local, here = stack == environment.LOCAL_STACK, environment.has_own_backend()
    with report.step(f"Stack {stack}") as step:
        selected = not local or _is_selected(layout, ready)
        if here and _state_file(layout, stack).exists() and selected:
            step.done("up to date", idle=True)
            return
        step.progress("creating it in .local/state" if here else f"asking {ready.env['PULUMI_BACKEND_URL']}")
        arguments = ["select", "--create", stack] if local or not here else ["init", "--no-select", stack]
        command: list[str | Path] = [ready.cli.program, "stack", *arguments]
        if local or not here:
            run_quietly(
                command,
                cwd=layout.project,
                env=ready.env,
                failure="The stack cannot be created",
            )
        elif not _has_passphrase(ready.env) and not sys.stdin.isatty():
            raise ChoreError(_ENCRYPTION_NEEDED.format(stack=stack))
        else:
            step.release_terminal()
            if code := run_openly(command, cwd=layout.project, env=ready.env):
                raise ChoreError(f"Stack {stack} cannot be created.", exit_code=code)
        step.done("ready")


def _is_selected(layout: Layout, ready: Ready) -> bool:
    """Return whether a stack is selected for this backend: plain `pulumi` keeps one for each address."""
    backend = ready.env["PULUMI_BACKEND_URL"]
    for file in (layout.pulumi_home / "workspaces").glob(f"{project_name(layout.project)}-*.json"):
        try:
            chosen = json.loads(file.read_text())
        except (OSError, ValueError):
            continue
        if chosen.get("stack") or backend in (chosen.get("stacks") or ()):
            return True
    return False


_ENCRYPTION_NEEDED = """Stack {stack} needs a way to encrypt its secrets. Set one of these:
  - PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE: a passphrase of your choice; keep it
  - VERTEX_TRAINING_BACKEND_URL: the backend of your team, such as https://api.pulumi.com"""


def _has_passphrase(env: Mapping[str, str]) -> bool:
    return any(name in env for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"))


def _printing_commands(layout: Layout, ready: Ready, *, stack: str) -> Ready:
    return replace(ready, env={**printed_commands(layout, stack=stack), **ready.env})


def printed_commands(
    layout: Layout, *, stack: str, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the variables that make `pulumi` print commands for the shell of the user.

    That shell may not be activated; without variables it is.
    """
    if shutil.which(_COMMAND, path=environ.get("PATH", os.defpath)) == str(layout.venv / "bin" / _COMMAND):
        return {}
    command, pulumi = (shlex.quote(str(layout.root / "scripts" / name)) for name in (_COMMAND, "pulumi"))
    if layout.folder:
        pulumi = f"FOLDER={shlex.quote(layout.folder)} {pulumi}"
    if stack != environment.LOCAL_STACK:
        pulumi = f"STACK={shlex.quote(stack)} {pulumi}"
    return {environment.COMMAND_VARIABLE: command, environment.PULUMI_VARIABLE: pulumi}


def _become(layout: Layout, ready: Ready, arguments: Sequence[str]) -> int:
    """Replace this process by `pulumi`, so that it gets Ctrl-C and the terminal."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(layout.project)
    os.execve(ready.cli.program, ["pulumi", *arguments], ready.env)  # noqa: S606
