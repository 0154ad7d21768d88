"""Start the plugin: `python -m pulumi_vertex_training.package ENGINE`, as the engine does."""

from __future__ import annotations

import contextlib
import signal
import sys
from concurrent import futures

from pulumi_vertex_training.package.wire import sdk

_THREADS = 512
"""The most calls at a time: each wait for a job is in one. The engine limits them (`--parallel`)."""


def main() -> None:
    """Serve until the engine ends the process. The first line that is printed is the port."""
    sdk.load_messages_alone()
    import grpc
    from pulumi.runtime.proto import provider_pb2_grpc

    from pulumi_vertex_training.package import launcher
    from pulumi_vertex_training.package.host import EngineHost
    from pulumi_vertex_training.package.server import Server

    server = grpc.server(futures.ThreadPoolExecutor(_THREADS), options=sdk.CHANNEL_OPTIONS)
    given = [word.removeprefix(launcher.OPTION) for word in sys.argv if word.startswith(launcher.OPTION)]
    provider = Server(EngineHost(None), launcher="".join(given[:1]))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    # The engine ends its plugins by SIGINT, which a shell makes its background processes ignore.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        server.start()
        printed = sys.stdout
        provider.serve(next((argument for argument in sys.argv[1:] if ":" in argument), None))
        printed.write(f"{port}\n")
        printed.flush()
        server.wait_for_termination()


if __name__ == "__main__":
    main()
