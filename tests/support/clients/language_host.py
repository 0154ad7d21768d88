"""A language host of Pulumi for programs in Go and TypeScript, where the one of Pulumi's download is missing.

It runs a program that is compiled already: `bin/program`, or `bin/index.js` by Pulumi's SDK for Node. A host
is a program on PATH (`pulumi-language-go`), which prints its port, and to which the engine sends `Run`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

NAMES = {"go": "pulumi-language-go", "nodejs": "pulumi-language-nodejs"}
_RUNTIME = "node_modules/@pulumi/pulumi/cmd/run"


def install(folder: Path, language: str) -> None:
    """Write the host into a folder that is on PATH."""
    folder.mkdir(exist_ok=True)
    script = folder / NAMES[language]
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {language} "$@"\n')
    script.chmod(0o755)


class Host(language_pb2_grpc.LanguageRuntimeServicer):
    """The host of one language, for the engine at an address."""

    def __init__(self, language: str, engine: str) -> None:
        self._language, self._engine = language, engine

    def Handshake(self, _request: Any, _context: Any) -> Any:  # noqa: N802  the service's names
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        return plugin_pb2.PluginInfo(version="1.0.0")

    def GetRequiredPackages(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        return language_pb2.GetRequiredPluginsResponse()

    def Cancel(self, _request: Any, _context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def Run(self, request: Any, _context: Any) -> Any:  # noqa: N802
        values = {
            "ORGANIZATION": request.organization,
            "PROJECT": request.project,
            "STACK": request.stack,
            "CONFIG": json.dumps(dict(request.config)),
            "CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
            "PARALLEL": str(request.parallel),
            "DRY_RUN": "true" if request.dryRun else "false",
            "MONITOR": request.monitor_address,
            "ENGINE": self._engine,
            "NODEJS_TYPESCRIPT": "false",
        }
        env = {**os.environ, **{f"PULUMI_{name}": value for name, value in values.items()}}
        folder = Path(request.info.program_directory)
        flags = [
            *(f"--{name}={values[name.upper()]}" for name in ("organization", "project", "stack", "monitor")),
            *(f"--{name}={values[name.upper()]}" for name in ("engine", "parallel")),
            *(["--dry-run"] if request.dryRun else []),
        ]
        command = {
            "go": [folder / "bin/program"],
            "nodejs": ["node", folder / _RUNTIME, *flags, f"--pwd={folder}", folder / "bin/index.js"],
        }[self._language]
        done = subprocess.run(command, cwd=folder, env=env, stdout=sys.stderr, check=False)
        return language_pb2.RunResponse(error=f"exit status {done.returncode}" if done.returncode else "")


def main() -> None:
    """Serve until the engine ends the process. The first line that is printed is the port."""
    language, *arguments = sys.argv[1:]
    server = grpc.server(futures.ThreadPoolExecutor(4))
    host = Host(language, next(one for one in arguments if not one.startswith("-")))
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
