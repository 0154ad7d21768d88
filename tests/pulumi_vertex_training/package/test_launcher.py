"""A launcher of another version than the package: one sentence with the command."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import provider_pb2

from pulumi_vertex_training.package import launcher
from pulumi_vertex_training.package.host import EngineHost
from pulumi_vertex_training.package.server import Server
from support.waiting import TIMEOUT
from vertex_training import __version__

URN = "urn:pulumi:dev::digits::pulumi:providers:vertex-training::default"


@pytest.mark.parametrize(("of", "works"), [("", True), ("0.2.0", True), ("0.1.0", False), ("0.3.0", False)])
def test_a_launcher_of_another_version_names_the_command(of: str, works: bool) -> None:
    words = launcher.other_version(of, "0.2.0")
    assert (words == "") is works
    assert works or (f"version {of}" in words and "Run `vertex-training plugin install`" in words)


def test_the_configuration_of_a_provider_is_refused() -> None:
    server = Server(EngineHost(None), launcher="0.0.1")
    inputs = struct_pb2.Struct()
    request = provider_pb2.CheckRequest(urn=URN, olds=inputs, news=inputs)
    answer = server.CheckConfig(request, cast("Any", SimpleNamespace()))
    (failure,) = answer.failures
    assert failure.reason == launcher.other_version("0.0.1", __version__)


def test_both_launchers_pass_their_version() -> None:
    for text in (launcher.of_this_python("0.2.0", "/a b/python"), launcher.of_any_python("0.2.0")):
        assert text.startswith("#!/bin/sh\n")
        assert f'-m pulumi_vertex_training.package {launcher.OPTION}0.2.0 "$@"' in text


def test_the_plugin_ends_if_its_engine_was_killed_before_it_asked_anything() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    command = [sys.executable, "-m", "pulumi_vertex_training.package", address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as plugin:
        assert plugin.wait(TIMEOUT) == 1


def test_the_plugin_ends_without_a_word_when_the_engine_ends_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background of a shell
    plugin = subprocess.Popen(
        [sys.executable, "-m", "pulumi_vertex_training.package"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, before)
    assert plugin.stdout is not None
    assert int(plugin.stdout.readline()) > 0
    plugin.send_signal(signal.SIGINT)
    assert plugin.communicate() == ("", "")
