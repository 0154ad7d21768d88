"""The variables with which programs use the proxy, for replicas and for shells that ask for it.

Programs read the proxy in lower case (gRPC, curl) or upper case (Node), and trust its authority through
different variables. Imports nothing heavy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from vertex_emulator.server.proxy.hosts import DOMAINS, is_within

USER = "emulator"
"""The user name in the proxy's address; the secret is the password."""

FOLDER = PurePath("proxy", "certificates")
"""The folder with the public certificates, in the data folder."""
BUNDLE = "bundle.pem"
ROOT = "root.pem"
JAVA_TRUST = "authorities.jks"
JAVA_AGENT = "java-agent.jar"

UPSTREAM = "VERTEX_TRAINING_UPSTREAM_PROXY"
"""The caller's own https_proxy, in a shell whose https_proxy is the emulator's."""

_PROXY = ("https_proxy", "HTTPS_PROXY")
_EXEMPT = ("no_proxy", "NO_PROXY")
_BUNDLES = (
    "CURL_CA_BUNDLE",  # curl, TensorFlow
    "REQUESTS_CA_BUNDLE",  # requests, and with it Google's Python clients, pip and gcloud
    "SSL_CERT_FILE",  # OpenSSL (Python's ssl, aiohttp), Go
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",  # gsutil, which reads no other one
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",  # gRPC's C core, and Node's gRPC
)
_ROOTS = (
    "NODE_EXTRA_CA_CERTS",  # Node reads these authorities in addition to its own
    # google-api-python-client, which ignores the proxy if PySocks is missing. With our root alone it cannot
    # reach Google then, and sends no token there.
    "HTTPLIB2_CA_CERTS",
)
_NODE_PROXY = "NODE_USE_ENV_PROXY"
"""With it, Node's own `fetch` and `http` use the proxy too."""

_JAVA = "VERTEX_EMULATOR_JAVA_OPTIONS"
"""The options with which Java uses the proxy. They have no secret: Java prints them at its start."""
_JAVA_READS = "JAVA_TOOL_OPTIONS"

_LOCAL = ("127.0.0.1", "localhost")
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""Addresses that the proxy refuses and programs may reach themselves."""


def proxy_url(address: str, secret: str) -> str:
    """Return the value of https_proxy. `address` is host and port."""
    return f"http://{USER}:{secret}@{address}"


def variables(
    url: str, *, certificates: PurePath, environment: Mapping[str, str], direct: Iterable[str] = ()
) -> dict[str, str]:
    """Return the variables of a program that uses the proxy.

    `certificates` is the folder of the certificates as the program sees it. The exceptions of `environment`
    stay, except for those that cover Google's hosts; `direct` are further hosts that need no proxy.
    """
    bundle = str(certificates / BUNDLE)
    exempt = no_proxy(environment, direct)
    return {
        **dict.fromkeys(_PROXY, url),
        **dict.fromkeys(_EXEMPT, exempt),
        **dict.fromkeys(_BUNDLES, bundle),
        **dict.fromkeys(_ROOTS, str(certificates / ROOT)),
        _NODE_PROXY: "1",
        _JAVA: _java_options(certificates),
    }


def shell_variables(url: str, *, data_dir: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a shell. Its own proxy stays the way to all other hosts."""
    own = _own_proxy(environment)
    return {
        **variables(url, certificates=data_dir / FOLDER, environment=environment),
        **({UPSTREAM: own} if own else {}),
    }


def java_variables(*, data_dir: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that all Java programs of a shell read, which keeps its own options."""
    options = _java_options(data_dir / FOLDER)
    own = _without_java_options(environment.get(_JAVA_READS, ""))
    return {_JAVA_READS: f"{own} {options}".lstrip()}


def no_proxy(environment: Mapping[str, str], direct: Iterable[str] = ()) -> str:
    """Return the exceptions of an environment without those that cover Google's hosts, with local ones."""
    present = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    kept = [entry for each in present.split(",") if (entry := each.strip()) and not _covers_google(entry)]
    return ",".join(dict.fromkeys([*kept, *_LOCAL, *_PRIVATE, *direct]))


def without(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables of `shell_variables`, and with the caller's own proxy.

    The emulator itself must not use its proxy, nor the certificates of another start.
    """
    kept = dict(environment)
    own = _own_proxy(environment)
    kept.pop(UPSTREAM, None)
    if any(is_own(kept.get(name, "")) for name in _PROXY):
        kept.pop(_NODE_PROXY, None)
    for name in _PROXY:
        if is_own(kept.get(name, "")):
            del kept[name]
            if own:
                kept[name] = own
    for name in (*_BUNDLES, *_ROOTS):
        if is_own_file(kept.get(name, "")):
            del kept[name]
    kept.pop(_JAVA, None)
    if _JAVA_READS in kept and not (options := _without_java_options(kept[_JAVA_READS])):
        del kept[_JAVA_READS]
    elif _JAVA_READS in kept:
        kept[_JAVA_READS] = options
    return kept


def names_a_proxy(environment: Mapping[str, str]) -> bool:
    """Return whether an environment has a proxy for https."""
    return any(environment.get(name) for name in _PROXY)


def is_own(url: str) -> bool:
    """Return whether a proxy belongs to an emulator, by its address."""
    parts = urlsplit(url)
    return parts.username == USER and parts.hostname == "127.0.0.1"


def is_own_file(path: str) -> bool:
    """Return whether a file of certificates belongs to an emulator."""
    return PurePath(path).parts[-3:-1] == FOLDER.parts and PurePath(path).name in (BUNDLE, ROOT)


def secret_of(environment: Mapping[str, str]) -> str:
    """Return the secret of an emulator's proxy in an environment, or ""."""
    url = environment.get("https_proxy", "")
    return urlsplit(url).password or "" if is_own(url) else ""


def _java_options(certificates: PurePath) -> str:
    option = f"-javaagent:{certificates / JAVA_AGENT}={certificates / JAVA_TRUST}"
    return f'"{option}"' if re.search(r"[\s']", option) else option


_OWN_JAVA_OPTIONS = re.compile(
    rf"""\s*(?:"-javaagent:[^"]*/{JAVA_AGENT}=[^"]*"|-javaagent:\S*/{JAVA_AGENT}=\S*)"""
)


def _without_java_options(options: str) -> str:
    return _OWN_JAVA_OPTIONS.sub("", options).strip()


def _own_proxy(environment: Mapping[str, str]) -> str:
    """Return the proxy that the caller uses for https, which is not an emulator's."""
    present = next((value for name in _PROXY if (value := environment.get(name))), "")
    return environment.get(UPSTREAM, "") if is_own(present) else present


def _covers_google(entry: str) -> bool:
    name = entry.lower().partition(":")[0].lstrip("*").lstrip(".")
    # gRPC compares ends of names, also within a label.
    return not name or is_within(name) or any(domain.endswith(name) for domain in DOMAINS)
