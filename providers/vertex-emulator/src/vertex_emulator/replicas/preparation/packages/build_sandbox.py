"""The sandbox in which packages are built and installed: a replica's.

The build of a source distribution runs code of the package, and a job may name any package. So it sees the
machine as a replica does, without the folders of the machine's users. It gets the settings of the package
index, and no other variables or files of the emulator's user.
"""

from __future__ import annotations

import contextlib
import netrc
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from vertex_emulator.replicas.network import job_network
from vertex_emulator.replicas.network.job_network import JobNetwork, NetworkError
from vertex_emulator.replicas.plan import Plan
from vertex_emulator.replicas.preparation.interpreters import Interpreter
from vertex_emulator.replicas.preparation.packages.pip import InstallError
from vertex_emulator.replicas.preparation.services import (
    certificates_of,
    network_targets,
    proxy_variables,
    services_of,
)
from vertex_emulator.replicas.sandbox import sandbox
from vertex_emulator.replicas.sandbox.linux.network_namespace import NetworkNamespace
from vertex_emulator.replicas.sandbox.program import Command

_NAME = "build"
_CERTIFICATES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_PASSED = re.compile(
    r"PATH|LANG|LC_\w+|TZ|CC|CXX|CPP|LD|AR|(C|CXX|CPP|LD|F)FLAGS|LD_LIBRARY_PATH|PYTHON\w*|PIP_\w+"
    r"|SETUPTOOLS_\w+|SOURCE_DATE_EPOCH|MAKEFLAGS|CMAKE_\w+"
)
"""The emulator's variables that pip and compilers get."""

_PIP_FILES = (".config/pip/pip.conf", ".pip/pip.conf")
"""Settings of pip in the user's home folder."""


@contextlib.contextmanager
def network_of_build(plan: Plan, path: Path) -> Iterator[NetworkNamespace | None]:
    """Yield the network of an installation, or None for the machine's, as the job's replicas have it.

    `path` leads to the network's socket. Raises `InstallError`.
    """
    if plan.network == "host":
        yield None
        return
    try:
        network = JobNetwork(
            names=[_NAME],
            hosts=[_NAME],
            targets=network_targets(plan, services_of(plan)),
            sandbox=plan.sandbox,
            path=path,
            timeouts=plan.timeouts,
        )
    except NetworkError as error:
        raise InstallError(
            f"The network of the job could not be made: {error}. To use the machine's network, run "
            "`vertex-emulator network host` and create the job again."
        ) from None
    try:
        yield network.namespace(0)
    finally:
        network.close()


def build_command(
    plan: Plan,
    interpreter: Interpreter,
    folder: Path,
    argv: Sequence[str],
    network: NetworkNamespace | None,
) -> Command:
    """Return the command of an installation, which can change nothing but `folder` and the buckets.

    Creates folders in `folder`. Raises `OSError`.
    """
    apart = plan.sandbox.kind == "namespaces"
    certificates = certificates_of(plan)
    hidden = plan.data_dir.resolve()
    visible = (
        *sandbox.interpreter_paths(),
        *interpreter.folders,
        *local_sources(os.environ),
        *([certificates] if network is not None and certificates.is_dir() else ()),
    )
    view = sandbox.View(
        folder=folder.resolve(),
        buckets=plan.buckets_dir.resolve(),
        hidden=hidden,
        visible=sandbox.outermost(visible, hidden=hidden),
        hostname=_NAME if network is not None else socket.gethostname(),
        hosts=_hosts(),
        resolver=None if network is None else job_network.RESOLVER,
        system_only=True,
    )
    sandbox.make_folders(view)
    home = view.folder / "home"
    _copy_settings(home)
    return Command(
        argv=tuple(argv),
        environment={
            **_environment(plan, proxied=network is not None),
            "HOME": str(home),
            "TMPDIR": "/tmp" if apart else str(view.folder / "tmp"),  # noqa: S108
        },
        cwd=view.folder / "work",
        sandbox=plan.sandbox,
        view=view if apart else None,
        network=network,
    )


def _environment(plan: Plan, *, proxied: bool) -> dict[str, str]:
    """Return the variables of an installation; `proxied`: it reaches other hosts through the proxy alone."""
    passed = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
    passed.pop("PIP_CACHE_DIR", None)  # it would be read-only
    if proxied:
        services = services_of(plan)
        if services is None:
            return passed
        return {**passed, **proxy_variables(plan, services, own_root=False, names=[], environment={})}
    more = (*_CERTIFICATES, *_PROXIES, *map(str.upper, _PROXIES))
    return {**passed, **{name: os.environ[name] for name in more if name in os.environ}}


def _hosts() -> str:
    path = Path("/etc/hosts")
    return path.read_text(errors="replace") if path.is_file() else "127.0.0.1 localhost\n"


def local_sources(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files and folders of this machine that the variables of pip and of TLS libraries name."""
    words = [
        word.removeprefix("file://")
        for name, value in environment.items()
        if name.startswith("PIP_") or name in _CERTIFICATES
        for word in value.split()
    ]
    sources = dict.fromkeys(Path(word) for word in words if word.startswith("/") and word != os.devnull)
    return tuple(path for path in sources if path.exists())


def _copy_settings(home: Path) -> None:
    """Copy pip's settings, and the passwords of ~/.netrc for the hosts that they name, but no others."""
    texts = [value for name, value in os.environ.items() if name.startswith("PIP_")]
    for name in _PIP_FILES:
        with contextlib.suppress(OSError, RuntimeError):  # the user has no such file, or no home folder
            content = (Path.home() / name).read_bytes()
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(content)
            texts.append(content.decode(errors="replace"))
    hosts = {urlsplit(each).hostname for text in texts for each in re.findall(r"https?://[^\s'\"]+", text)}
    with contextlib.suppress(OSError, RuntimeError, netrc.NetrcParseError):
        known = netrc.netrc(Path.home() / ".netrc").hosts
        lines = [
            f"machine {host} login {login} password {password}\n"
            for host, (login, _, password) in known.items()
            if host in hosts
        ]
        if lines:
            (home / ".netrc").write_text("".join(lines))
            (home / ".netrc").chmod(0o600)
