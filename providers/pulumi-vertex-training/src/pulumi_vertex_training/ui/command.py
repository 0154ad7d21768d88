"""`ui`: serve the dashboard at an address of this machine until Ctrl-C."""

from __future__ import annotations

import argparse
import functools
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING

from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.ui.source.source import Source
from pulumi_vertex_training.views.target import Choice
from vertex_emulator import extras
from vertex_training.command_line.errors import CommandError, InputError
from vertex_training.command_line.output import Output

if TYPE_CHECKING:
    from pulumi_vertex_training.ui.pages.page import Page

HOST = "127.0.0.1"


def serve(options: argparse.Namespace, output: Output) -> None:
    """Run the command `ui`."""
    if problem := extras.problem(extras.UI):
        raise CommandError(problem)
    choice = Choice(
        kind=options.endpoint or "emulator",
        project=options.project,
        location=options.location,
        data_dir=options.data_dir,
        timeouts=options.timeouts,
    )
    source = Source(choice)
    if not source.is_emulator:
        source.endpoint()  # an emulator may start later, but a project must be given
    listener = _listen(options.port)
    from pulumi_vertex_training.ui.pages.overview.page import OVERVIEW

    look = functools.partial(_look_first, source, OVERVIEW)
    threading.Thread(target=look, name="first look", daemon=True).start()
    import uvicorn

    from pulumi_vertex_training.ui.server import actions
    from pulumi_vertex_training.ui.server.access import ONCE, TOKEN, Access
    from pulumi_vertex_training.ui.server.app import application
    from pulumi_vertex_training.ui.server.connections import Connections, most_connections, protocol

    port = int(listener.getsockname()[1])
    token = secrets.token_urlsafe(32)
    servers: list[uvicorn.Server] = []
    is_interrupted = False

    def interrupt(*_: object) -> None:
        """End the server at the first Ctrl-C, or the process at the second.

        Python loses a KeyboardInterrupt that it raises inside an import's own code.
        """
        nonlocal is_interrupted
        is_interrupted = True
        for server in servers:
            server.should_exit = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    may_act = source.is_emulator or options.allow_actions
    app = application(
        source,
        is_ending=lambda: any(server.should_exit for server in servers),
        permission=actions.allowed(on_emulator=source.is_emulator) if may_act else None,
    )
    connections = Connections(most_connections())
    access = Access(app, port=port, token=token, prove=connections.prove)
    address = f"http://{HOST}:{port}/"
    opened = f"{address}?{TOKEN}={token}"
    signal.signal(signal.SIGINT, interrupt)
    if output.as_json:
        output.document_line({"url": opened})
    else:
        output.line(f"The dashboard is at {opened}")
        output.line("The address has a token: share it with nobody. To stop, press Ctrl-C.")
        try:
            output.line(f"It shows {source.endpoint()}." + ("" if may_act else " It changes nothing."))
        except CommandError as error:
            output.note(f"{error} The page shows it as soon as it runs.")
    sys.stdout.flush()
    if options.open:
        # Other users of the machine can see the arguments of a browser, so this address works only once.
        webbrowser.open(f"{address}?{ONCE}={access.once()}")
    config = uvicorn.Config(
        access,
        http=protocol(connections, options.timeouts),
        backlog=connections.most,  # so many are accepted at once, before the table can close any
        log_level="warning",
        access_log=False,  # addresses may have the token
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=round(options.timeouts.dashboard_end),
    )
    servers.append(uvicorn.Server(config))
    servers[0].should_exit = is_interrupted
    servers[0].run(sockets=[listener])
    if is_interrupted:
        raise KeyboardInterrupt


def _look_first(source: Source, overview: Page) -> None:
    """Read the overview while the server is imported, and render it, so that the first page is ready."""
    with suppress(CommandError, CloudError):
        parts = overview.parts(overview.read(source.endpoint(), {}))
        from pulumi_vertex_training.ui.server import rendering
        from pulumi_vertex_training.ui.server.feed import FIRST_ROWS

        rendering.rendered(parts, rows=FIRST_ROWS)
        rendering.environment().get_template(overview.template)


def _listen(port: int | None) -> socket.socket:
    """Return a socket that listens at a port, or at any free one. Raises InputError for one in use."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port or 0))
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(
            f"Port {port} cannot be used: {error.strerror}. Give another one, or leave --port out for any.",
            path="--port",
        ) from error
    return listener
