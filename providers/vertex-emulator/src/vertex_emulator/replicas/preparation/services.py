"""How the programs of a job reach the emulator and its proxy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.kernel.disk.data_folder import DataFolder, DataFolderError
from vertex_emulator.replicas.network.relay import Target
from vertex_emulator.replicas.plan import Plan
from vertex_emulator.server.proxy import variables

CERTIFICATES_PATH = Path("/.vertex-training")
"""Path of the proxy's certificates in a root of the image's own. It is at the top, where even a read-only
image has space for it."""


@dataclass(frozen=True)
class Services:
    """The addresses of the emulator, or those that it had last, and its token; empty if unknown."""

    url: str
    token: str
    proxy: str


def emulator_addresses(data_dir: Path) -> tuple[str, str]:
    """Return where the emulator of a data folder and its proxy answer; empty if it is unknown."""
    try:
        record = data_folder.read_record(DataFolder(root=data_dir))
    except DataFolderError:
        return "", ""
    return ("", "") if record is None else (record.url, record.proxy or "")


def services_of(plan: Plan) -> Services | None:
    """Return how replicas reach the emulator, or None if its URL is unknown."""
    url, proxy = emulator_addresses(plan.data_dir)
    try:
        token = data_folder.read_token(DataFolder(root=plan.data_dir))
    except DataFolderError:
        return None
    if not (url or plan.emulator_url) or not token or not plan.project:
        return None
    return Services(url or plan.emulator_url, token, proxy or plan.proxy)


def certificates_of(plan: Plan) -> Path:
    """Return the folder with the certificates of the emulator's proxy, which exists only with a proxy."""
    return plan.data_dir.resolve() / variables.FOLDER


def proxy_variables(
    plan: Plan, services: Services, *, own_root: bool, names: Sequence[str], environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables of the emulator's proxy, or none without it. `names` are the machines' names."""
    folder = certificates_of(plan)
    if not services.proxy or not (folder / variables.BUNDLE).is_file():
        return {}
    url = variables.proxy_url(services.proxy, data_folder.replica_proxy_secret(services.token))
    seen_at = CERTIFICATES_PATH if own_root and plan.sandbox.kind == "namespaces" else folder
    return variables.variables(url, certificates=seen_at, environment=environment, direct=names)


def network_targets(plan: Plan, services: Services | None) -> dict[int, Target]:
    """Return how the ports that programs in a job's own network know lead to the emulator and its proxy."""
    if services is None:
        return {}
    known = services

    def now(choose: Callable[[Services], str]) -> tuple[str, int]:
        return _host_and_port(choose(services_of(plan) or known))

    choices: tuple[Callable[[Services], str], ...] = (lambda each: each.url, lambda each: each.proxy)
    return {_host_and_port(choose(known))[1]: partial(now, choose) for choose in choices if choose(known)}


def _host_and_port(address: str) -> tuple[str, int]:
    """Split an address with or without a scheme."""
    parts = urlsplit(address if "//" in address else f"//{address}")
    return parts.hostname or "", parts.port or 0
