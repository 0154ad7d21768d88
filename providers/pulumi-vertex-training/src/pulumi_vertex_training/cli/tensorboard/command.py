"""`tensorboard`: show the TensorBoard logs of jobs in TensorBoard on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from pulumi_vertex_training import registry
from pulumi_vertex_training.cli.live.reading import endpoint_again
from pulumi_vertex_training.cli.live.screen import passes, terminated_as_interrupted
from pulumi_vertex_training.cli.tensorboard.mirror import Mirror, Source, source_of
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.temporary_folders import temporary_folder
from pulumi_vertex_training.timeouts import Timeouts
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.jobs import lookup as job_lookup
from vertex_emulator import machine_clock
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output
from vertex_training.job.job_kind import JobKind

_HOST = "127.0.0.1"
_FIRST_PORT, _LAST_PORT = 6006, 6026
_LOCAL_SECONDS, _CLOUD_SECONDS = 2.0, 20.0
"""Seconds between two copies of what is new."""
_LOOP_SECONDS = 0.2
_INSTALL = "Install it with `pip install tensorboard`, in this environment or in another one on PATH."


def tensorboard(options: argparse.Namespace, output: Output) -> int:
    """Run the command `tensorboard`. Ctrl-C ends TensorBoard, and is no failure."""
    named = argparse.Namespace(**{**vars(options), "job": options.jobs[0]})
    endpoint = target.resolve(target.of_options(named))
    wanted = [job_lookup.wanted_of(options, text) for text in dict.fromkeys(options.jobs)]
    records = [job_lookup.find(endpoint, one).record for one in wanted]
    sources = list({one.name: one for one in (_source(record) for record in records)}.values())
    program = _program()
    port = _port(options.port)
    with temporary_folder("vertex-training-tensorboard-") as folder:
        mirror = Mirror(folder, sources)
        if not mirror.refresh(endpoint):
            output.note("There are no TensorBoard logs yet. They appear once the jobs write them.")
        words = [*program, "--logdir", str(folder), "--host", _HOST, "--port", str(port)]
        with contextlib.suppress(KeyboardInterrupt), terminated_as_interrupted():
            again = endpoint_again(named, endpoint)
            _serve(words, port, sources, mirror, again, options.timeouts, output)
    return 0


def _source(record: JobRecord) -> Source:
    kind: JobKind[Any] = registry.runnable(record.collection).part("kind", "KIND", JobKind)
    try:
        directory = kind.directory_of(record.wire)
    except ValueError as error:
        raise CommandError(f"Job {record.job_id} cannot be read: {error}.", path="JOB") from error
    if not directory:
        raise InputError(
            f"Job {record.job_id} ({record.display_name}) has no base_output_directory, so it has no "
            "TensorBoard logs. Declare one, or a staging_bucket, and let the program write to "
            "AIP_TENSORBOARD_LOG_DIR.",
            path="JOB",
        )
    return source_of(record, directory)


def _program() -> list[str]:
    """Return the command that starts TensorBoard. Raises CommandError if it is not installed."""
    found = shutil.which("tensorboard")
    if found is not None:
        return [found]
    if importlib.util.find_spec("tensorboard") is not None:
        return [sys.executable, "-m", "tensorboard.main"]
    raise CommandError(f"TensorBoard is not installed. {_INSTALL}")


def _port(chosen: int | None) -> int:
    """Return the port to serve at. Raises InputError if the chosen one is in use, CommandError if all are."""
    for port in range(_FIRST_PORT, _LAST_PORT) if chosen is None else (chosen,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_HOST, port))
            except OSError:
                continue
            return port
    if chosen is not None:
        raise InputError(f"Port {chosen} of {_HOST} is in use. Give another one.", path="--port")
    raise CommandError(
        f"The ports {_FIRST_PORT} to {_LAST_PORT - 1} of {_HOST} are in use. Give another one with --port."
    )


def _serve(
    words: Sequence[str],
    port: int,
    sources: Sequence[Source],
    mirror: Mirror,
    again: Callable[[], Endpoint],
    timeouts: Timeouts,
    output: Output,
) -> None:
    """Run TensorBoard, and copy what is new until it ends. Raises CommandError if it ends by itself."""
    announced, trouble, due = False, "", 0.0
    # Its words are not the result of this command, which may be JSON.
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno())  # noqa: S603
    ended = _ended(process)
    try:
        while not ended.is_set():
            if not announced and _answers(port):
                announced = True
                _announce(port, sources, output)
            if machine_clock.monotonic() >= due:
                try:
                    endpoint = again()
                    seconds = _LOCAL_SECONDS if endpoint.is_emulator else _CLOUD_SECONDS
                    due = machine_clock.monotonic() + seconds
                    mirror.refresh(endpoint)
                    trouble = ""
                except (CloudError, CommandError) as error:
                    if not passes(error):
                        raise
                    if str(error) != trouble:
                        output.note(f"retrying: {error}")
                    trouble, due = str(error), machine_clock.monotonic() + _LOCAL_SECONDS
            machine_clock.sleep(_LOOP_SECONDS)
    finally:
        _end(process, ended, timeouts)
    raise CommandError(
        f"TensorBoard ended with exit code {process.returncode}. To see why, run {shlex.join(words)}"
    )


def _announce(port: int, sources: Sequence[Source], output: Output) -> None:
    url = f"http://{_HOST}:{port}/"
    if output.as_json:
        logs = [{"run": one.name, "directory": one.directory} for one in sources]
        output.document_line({"url": url, "logs": logs})
        return
    output.line(f"TensorBoard answers at {url} with the logs of:")
    for one in sources:
        output.line(f"  {one.name}  {one.directory}")
    output.note("Ctrl-C ends it.")


def _answers(port: int) -> bool:
    try:
        socket.create_connection((_HOST, port), timeout=_LOOP_SECONDS).close()
    except OSError:
        return False
    return True


def _ended(process: subprocess.Popen[bytes]) -> threading.Event:
    """Return an event that is set when the process has ended.

    A thread waits, because Ctrl-C within `poll` or `wait` may leave the lock of `Popen` taken for ever.
    """
    ended = threading.Event()

    def wait() -> None:
        process.wait()
        ended.set()

    threading.Thread(target=wait, name="tensorboard", daemon=True).start()
    return ended


def _end(process: subprocess.Popen[bytes], ended: threading.Event, timeouts: Timeouts) -> None:
    """End TensorBoard, which Ctrl-C on the terminal may have reached, too."""
    if ended.is_set():
        return
    process.terminate()
    if not ended.wait(timeouts.tensorboard_end):
        process.kill()
        ended.wait()
