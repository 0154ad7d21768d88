"""What is done with a stack: up, preview, down, unlock."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts import backend_locks, environment, pulumi_cli, python_packages
from scripts.layout import Layout
from scripts.processes import run_openly, run_quietly
from scripts.pulumi_cli import PulumiCli
from scripts.report import ChoreError, Report


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A clone that is set up for a stack."""

    cli: PulumiCli
    env: dict[str, str]


def prepare(layout: Layout, report: Report, *, stack: str) -> Ready:
    """Everything that a `pulumi` command on the stack needs: packages, CLI, environment, the stack itself."""
    ready = _tools(layout, report, stack)
    _ensure_stack(layout, report, ready, stack)
    return ready


def activate(layout: Layout, report: Report, *, stack: str) -> str:
    """Shell code that makes plain `pulumi` act on the stack. Of the stacks only `local` is created here."""
    ready = (
        prepare(layout, report, stack=stack)
        if stack == environment.LOCAL_STACK
        else _tools(layout, report, stack)
    )
    return environment.shell_code(layout, ready.cli, stack=stack)


def _tools(layout: Layout, report: Report, stack: str) -> Ready:
    python_packages.ensure(layout, report, development=False)
    cli = pulumi_cli.ensure(layout, report)
    return Ready(cli=cli, env=environment.pulumi_environment(layout, cli, stack=stack))


def up(layout: Layout, report: Report, *, stack: str, arguments: Sequence[str]) -> int:
    """Deploy. The stack `local` is deployed without a question; any other one asks, as `pulumi up` does."""
    refuse_if_locked(layout, stack)
    ready = prepare(layout, report, stack=stack)
    consent = ["--yes", "--skip-preview"] if stack == environment.LOCAL_STACK else []
    return _become(layout, ready, ["up", "--stack", stack, *consent, *arguments])


def preview(layout: Layout, report: Report, *, stack: str, arguments: Sequence[str]) -> int:
    """Show what `up` would change, property by property."""
    ready = prepare(layout, report, stack=stack)
    return _become(layout, ready, ["preview", "--diff", "--stack", stack, *arguments])


def down(layout: Layout, report: Report, *, stack: str, arguments: Sequence[str]) -> int:
    """Remove everything that the stack has made; on `local` the emulator is stopped afterwards."""
    refuse_if_locked(layout, stack)
    if is_empty(layout, stack):
        report.line(f"Stack {stack} has nothing deployed.")
    else:
        ready = prepare(layout, report, stack=stack)
        consent = ["--yes", "--skip-preview"] if stack == environment.LOCAL_STACK else []
        command: list[str | Path] = [ready.cli.program, "destroy", "--stack", stack, *consent, *arguments]
        code = run_openly(command, cwd=layout.root, env=ready.env)
        if code:
            return code
    if stack != environment.LOCAL_STACK:
        return 0
    return _stop_emulator(layout, report)


def logs(layout: Layout, report: Report, *, stack: str, arguments: Sequence[str]) -> int:
    """Run the command that the stack's output `logs` names; `arguments` go to it, such as --follow."""
    ready = prepare(layout, report, stack=stack)
    shown = run_quietly(
        [ready.cli.program, "stack", "output", "logs", "--stack", stack],
        cwd=layout.root,
        env=ready.env,
        on_line=_ignore,
        failure=f"The stack {stack} has no output `logs`",
        remedy="It has one after `make up`.",
    )
    command = [*shlex.split(shown), *arguments]
    program = shutil.which(command[0], path=ready.env["PATH"]) if command else None
    if program is None:
        raise ChoreError(f"The stack's output `logs` is {shown!r}, which is no command.")
    return run_openly([program, *command[1:]], cwd=layout.root, env=ready.env)


def unlock(layout: Layout, report: Report, *, stack: str, force: bool) -> int:
    """Take back the lock of a killed `pulumi`, end what it left running. Refused while that process lives."""
    held = _locks(layout, stack)
    for lock in held:
        if lock.process_runs is not False and not force:
            state = "is running" if lock.process_runs else "cannot be seen from here"
            raise ChoreError(
                f"The stack {stack} is locked by {lock}. That process {state}: wait for it, or end it.\n"
                "If the lock is certainly stale: make unlock FORCE=1"
            )
    with report.step("Left-overs") as step:
        found = backend_locks.left_overs(layout.pulumi_home)
        backend_locks.end(found)
        step.done(f"{len(found)} processes of a killed run ended" if found else "none", idle=not found)
    if not held and environment.has_own_backend():
        report.line(f"Stack {stack} is not locked.")
        return 0
    return take_back(layout, report, prepare(layout, report, stack=stack), stack=stack)


def take_back(layout: Layout, report: Report, ready: Ready, *, stack: str) -> int:
    """Remove the lock, and on the stack `local` the record of what was interrupted."""
    cancel: list[str | Path] = [ready.cli.program, "cancel", "--yes", "--stack", stack]
    code = run_openly(cancel, cwd=layout.root, env=ready.env)
    if code == 0 and stack == environment.LOCAL_STACK and environment.has_own_backend():
        _forget_interrupted_creates(layout, report, ready, stack)
    return code


def _forget_interrupted_creates(layout: Layout, report: Report, ready: Ready, stack: str) -> None:
    """Take the operations that the kill interrupted out of the state.

    Pulumi would warn about each of them in every run from now on. Our resources find what they had begun to
    make, so on the stack `local`, which has no others, the record serves nobody. It is taken out as in
    Pulumi's guide, by export and import (https://www.pulumi.com/docs/iac/operations/troubleshooting/interrupted-updates/).
    """
    if not (_deployment(layout, stack) or {}).get("pending_operations"):
        return

    def run(*arguments: str | Path) -> None:
        command = [ready.cli.program, "stack", *arguments, "--stack", stack]
        failure = "The interrupted operations cannot be taken out of the state"
        run_quietly(command, cwd=layout.root, env=ready.env, on_line=_ignore, failure=failure)

    with report.step("State") as step, tempfile.TemporaryDirectory(dir=layout.local) as folder:
        step.say("taking out the interrupted operations")
        file = Path(folder, "state.json")
        run("export", "--file", file)
        state = json.loads(file.read_text())
        interrupted = state["deployment"].pop("pending_operations", [])
        file.write_text(json.dumps(state))
        run("import", "--file", file)
        step.done(f"{len(interrupted)} interrupted operations taken out; the next up finds what they made")


def refuse_if_locked(layout: Layout, stack: str) -> None:
    """Say what a lock in our own backend means and what to do, before Pulumi fails on it."""
    for lock in _locks(layout, stack):
        if lock.process_runs:
            raise ChoreError(f"Another pulumi is at work on the stack {stack}: {lock}. Wait for it to end.")
        if lock.process_runs is None:
            raise ChoreError(
                f"The stack {stack} is locked by {lock}. If nothing runs there any more: make unlock FORCE=1"
            )
        raise ChoreError(
            f"The stack {stack} is locked by {lock}, which no longer runs: it was killed. "
            f"What it had done is recorded. Take the lock back, then run the command again:\n"
            f"  make unlock{'' if stack == environment.LOCAL_STACK else f' STACK={stack}'}"
        )


def is_empty(layout: Layout, stack: str) -> bool:
    """Whether our own backend says for certain that the stack has no resource and no operation under way."""
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


def project_name(root: Path) -> str:
    """The project's name, as Pulumi.yaml has it on its line `name:`."""
    match = re.search(r"^name:\s*(\S+)", (root / "Pulumi.yaml").read_text(), re.MULTILINE)
    if not match:
        raise ChoreError(f"{root / 'Pulumi.yaml'} has no line `name:`.")
    return match[1]


def _locks(layout: Layout, stack: str) -> list[backend_locks.Lock]:
    if not environment.has_own_backend():
        return []
    return backend_locks.locks(layout.state, project_name(layout.root), stack)


def _state_file(layout: Layout, stack: str) -> Path:
    return layout.state / ".pulumi" / "stacks" / project_name(layout.root) / f"{stack}.json"


def _deployment(layout: Layout, stack: str) -> dict[str, object] | None:
    """The stack's last recorded state in our own backend; None when it cannot be read."""
    try:
        latest = json.loads(_state_file(layout, stack).read_text())["checkpoint"].get("latest")
        return dict(latest or {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _ensure_stack(layout: Layout, report: Report, ready: Ready, stack: str) -> None:
    """Create the stack where it is missing. Only `local` becomes the one that plain `pulumi` acts on."""
    local, here = stack == environment.LOCAL_STACK, environment.has_own_backend()
    with report.step(f"Stack {stack}") as step:
        selected = not local or any((layout.pulumi_home / "workspaces").glob("*.json"))
        if here and _state_file(layout, stack).exists() and selected:
            step.done("up to date", idle=True)
            return
        step.say("creating it in .local/state" if here else f"asking {ready.env['PULUMI_BACKEND_URL']}")
        arguments = ["select", "--create", stack] if local or not here else ["init", "--no-select", stack]
        command: list[str | Path] = [ready.cli.program, "stack", *arguments]
        if local or not here:
            run_quietly(
                command, cwd=layout.root, env=ready.env, on_line=_ignore, failure="The stack cannot be had"
            )
        elif not _has_passphrase(ready.env) and not sys.stdin.isatty():
            raise ChoreError(_ENCRYPTION_NEEDED.format(stack=stack))
        elif code := run_openly(command, cwd=layout.root, env=ready.env):
            raise ChoreError(f"The stack {stack} cannot be created.", exit_code=code)
        step.done("ready")


_ENCRYPTION_NEEDED = """The stack {stack} needs something to encrypt its secrets with. Set one of these:
  - PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE: a passphrase of your choice, to be kept
  - VERTEX_TRAINING_BACKEND_URL: where your team keeps its Pulumi state, such as https://api.pulumi.com"""


def _has_passphrase(env: Mapping[str, str]) -> bool:
    return any(name in env for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"))


def _stop_emulator(layout: Layout, report: Report) -> int:
    folder = Path(os.environ.get(environment.DATA_VARIABLE) or layout.emulator)
    if not (folder / "emulator.json").exists():
        report.line("The emulator is not running.")
        return 0
    python_packages.ensure(layout, report, development=False)
    command: list[str | Path] = [
        layout.venv / "bin" / "vertex-training",
        "emulator",
        "stop",
        "--data-dir",
        folder,
    ]
    return run_openly(command, cwd=layout.root, env=os.environ)


def _become(layout: Layout, ready: Ready, arguments: Sequence[str]) -> int:
    """Turn this process into `pulumi`: Ctrl-C and the terminal are then its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(layout.root)
    os.execve(ready.cli.program, ["pulumi", *arguments], ready.env)  # noqa: S606


def _ignore(_line: str) -> None:
    pass
