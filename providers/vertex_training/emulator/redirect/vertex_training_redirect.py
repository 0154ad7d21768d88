"""Clients of Google's Python libraries go to the emulator, in a program that knows nothing of it.

A client that is made without an endpoint, or with a host of googleapis.com, gets the emulator's address and
the REST transport (google-cloud-aiplatform has no variable for either). One that is made with an address that
names its scheme (https://...) or with a transport of its own is left as it is. Nothing is imported here
before the program imports it.
"""

from __future__ import annotations

import functools
import re
import sys
from typing import Any, Callable  # noqa: UP035 - Python 3.7 and later

_GENERATED = re.compile(
    r"google\.cloud\.(?:aiplatform_v1|aiplatform_v1beta1|artifactregistry_v1|resourcemanager_v3)"
    r"\.services\.\w+\.client"
)
_LOGGING = "google.cloud.logging_v2.client"
_GOOGLE_HOST = re.compile(r"(?:[\w.-]+\.)?googleapis\.com(?::443)?/?")


def install(url: str) -> None:
    """From now on clients are made for the emulator at `url`."""
    sys.meta_path.insert(0, _Finder(url.rstrip("/")))


class _Finder:
    """Lets the other finders find the modules of clients, and changes these once they are loaded."""

    def __init__(self, url: str) -> None:
        self._url = url

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith("google.cloud."):
            return None
        if name == _LOGGING:
            change = _change_logging
        elif _GENERATED.fullmatch(name):
            change = _change_generated
        else:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if self._may_ask(finder))
        spec: Any = next((found for found in others if found is not None), None)
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if execute is None:
            return spec

        def execute_and_change(module: Any) -> None:
            execute(module)
            try:
                change(module, self._url)
            except Exception as error:  # a version that is built otherwise: the import goes on
                sys.stderr.write(f"vertex-training: {name} does not find the emulator: {error}\n")

        spec.loader.exec_module = execute_and_change
        return spec

    def _may_ask(self, finder: object) -> bool:
        return finder is not self and hasattr(finder, "find_spec")


def _change_generated(module: Any, url: str) -> None:
    """The clients that a module defines, such as JobServiceClient."""
    for found in list(vars(module).values()):
        if isinstance(found, type) and found.__module__ == module.__name__ and _is_client(found):
            _replace_init(found, functools.partial(_for_generated, url=url))


def _is_client(found: type) -> bool:
    return found.__name__.endswith("Client")


def _for_generated(options: dict[str, Any], *, url: str) -> dict[str, Any]:
    transport = options.get("transport")
    changed = _options(options.get("client_options"), url)
    if changed is None or not (transport is None or isinstance(transport, str)):
        return options
    if transport is not None and transport.endswith("asyncio"):
        raise RuntimeError(
            "The emulator of vertex-training answers over REST, and this client is asynchronous, which needs "
            "gRPC. Use the client of the same name without Async."
        )
    return {**options, "transport": "rest", "client_options": changed}


def _change_logging(module: Any, url: str) -> None:
    _replace_init(module.Client, functools.partial(_for_logging, url=url))


def _for_logging(options: dict[str, Any], *, url: str) -> dict[str, Any]:
    changed = _options(options.get("client_options"), url)
    return options if changed is None else {**options, "client_options": changed, "_use_grpc": False}


def _replace_init(client: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Let `change` work on the options that the client is made with; they are given by keyword only."""
    made_before = client.__init__

    @functools.wraps(made_before)
    def init(self: Any, *args: Any, **options: Any) -> None:
        made_before(self, *args, **change(options))

    client.__init__ = init


def _options(given: Any, url: str) -> Any:
    """The client's options with the emulator's address, None where they name an address of their own."""
    from google.api_core.client_options import ClientOptions, from_dict

    if given is None:
        return ClientOptions(api_endpoint=url)
    values = dict(given) if isinstance(given, dict) else dict(vars(given))
    endpoint = values.get("api_endpoint")
    if endpoint is not None and not _GOOGLE_HOST.fullmatch(endpoint):
        return None
    values["api_endpoint"] = url
    return from_dict({name: value for name, value in values.items() if value is not None})
