"""`replica forward`: a port of this machine that leads to a port of a replica."""

from __future__ import annotations

import argparse
import functools
import os
import socket
import sys
from pathlib import Path

from vertex_emulator.command.target import control_of
from vertex_emulator.replicas.network import forwarding
from vertex_training.command_line.errors import CommandError
from vertex_training.command_line.output import Output
from vertex_training.findings.words import visible

_HOST = "127.0.0.1"


def forward(options: argparse.Namespace, output: Output) -> None:
    """Listen on 127.0.0.1 and pass connections on, until Ctrl-C or the end of the job."""
    with control_of(options) as control:
        job_id = options.find_job(options, control.jobs())
        found = control.network_of_replica(job_id, options.replica)
    wanted = options.port if options.local_port is None else options.local_port
    with _listen(wanted) as listener:
        local = listener.getsockname()[1]
        if output.as_json:
            output.document_line(
                {"job": job_id, "replica": options.replica, "port": options.port, "localPort": local}
            )
        else:
            output.line(
                f"{_HOST}:{local} leads to port {options.port} of {options.replica} of job {job_id}. "
                "Stop with Ctrl-C."
            )
            sys.stdout.flush()
        connect = functools.partial(
            forwarding.connect,
            Path(found["folder"]),
            options.replica,
            options.port,
            timeouts=options.timeouts,
        )
        try:
            forwarding.serve(
                listener, connect, lambda text: print(visible(text), file=sys.stderr, flush=True)
            )
        except forwarding.NetworkGoneError as error:
            raise CommandError(f"{job_id}: {error}") from error


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        raise CommandError(
            f"Port {port} of this machine cannot be used: {os.strerror(error.errno or 0)}. Choose another "
            "with --local-port.",
            path="--local-port",
        ) from error
