"""Changes to libraries right after a program has imported them, without a change to the program.

Clients of Google's Python libraries use the emulator. A client made without an endpoint, or with a host of
googleapis.com, gets the emulator's address and the REST transport (google-cloud-aiplatform has no variable
for either). A client made with an address that has a scheme (https://...) or with its own transport is
unchanged.

TensorFlow gets as many logical CPU devices as the replica's machine type has accelerators. Then
`tf.distribute.MirroredStrategy()` has as many replicas as on Google Cloud. JAX needs no change: XLA_FLAGS
does the same.

Nothing is imported before the program imports it.
"""

from __future__ import annotations

import functools
import re
import sys
from typing import Any, Callable, Optional  # noqa: UP035 - Python 3.7 and later

_Change = Callable[[Any], None]

_GENERATED = re.compile(
    r"google\.cloud\.(?:aiplatform_v1|aiplatform_v1beta1|artifactregistry_v1|resourcemanager_v3"
    r"|cloudquotas_v1|service_usage_v1|secretmanager_v1)"
    r"\.services\.\w+\.client"
)
_LOGGING = "google.cloud.logging_v2.client"
_ERRORS = "google.api_core.exceptions"
_GOOGLE_HOST = re.compile(r"(?:[\w.-]+\.)?googleapis\.com(?::443)?/?")


def install(url: str) -> None:
    """Redirect clients created from now on to the emulator at `url`."""
    url = url.rstrip("/")

    def change_of(name: str) -> Optional[_Change]:  # noqa: UP045
        if name == _LOGGING:
            return lambda module: _replace_init(module.Client, functools.partial(_for_logging, url=url))
        if name == _ERRORS:
            return lambda module: _change_errors(module, url)
        if name.startswith("google.cloud.") and _GENERATED.fullmatch(name):
            return lambda module: _change_generated(module, url)
        return None

    _after_import(change_of, "the emulator")


def install_devices(count: int) -> None:
    """Give TensorFlow `count` CPU devices when it is imported and finds no GPU."""

    def change_of(name: str) -> Optional[_Change]:  # noqa: UP045
        return (lambda module: _divide(module, count)) if name == "tensorflow" else None

    _after_import(change_of, f"{count} devices of the CPU")


def _change_generated(module: Any, url: str) -> None:
    """Change the clients that a module defines, such as JobServiceClient."""
    for found in list(vars(module).values()):
        if (
            isinstance(found, type)
            and found.__module__ == module.__name__
            and found.__name__.endswith("Client")
        ):
            _replace_init(found, functools.partial(_for_generated, url=url))


def _for_generated(options: dict[str, Any], *, url: str) -> dict[str, Any]:
    transport = options.get("transport")
    changed = _options(options.get("client_options"), url)
    if changed is None or not (transport is None or isinstance(transport, str)):
        return options
    if transport is not None and transport.endswith("asyncio"):
        raise RuntimeError(
            "This client is asynchronous and needs gRPC, which reaches the emulator through its proxy only. "
            'Set the variables with `eval "$(vertex-emulator env --proxy)"`, or use the client of '
            "the same name without Async."
        )
    return {**options, "transport": "rest", "client_options": changed}


def _for_logging(options: dict[str, Any], *, url: str) -> dict[str, Any]:
    changed = _options(options.get("client_options"), url)
    return options if changed is None else {**options, "client_options": changed, "_use_grpc": False}


def _change_errors(module: Any, url: str) -> None:
    """Raise the errors of gRPC, the default transport, for the emulator's answers over REST.

    They are subclasses of those of REST: AlreadyExists, which google-cloud-aiplatform looks for, of Conflict.
    """
    made_before = module.from_http_response
    codes: dict[str, type] = {}
    for found in vars(module).values():
        code = getattr(found, "grpc_status_code", None)
        if isinstance(found, type) and code is not None:
            codes.setdefault(code.name, found)

    @functools.wraps(made_before)
    def from_http_response(response: Any) -> Any:
        error = made_before(response)
        try:
            is_ours = response.request.url.startswith(url)
            wanted = codes.get(response.json()["error"]["status"]) if is_ours else None
        except (AttributeError, KeyError, TypeError, ValueError):
            wanted = None
        # A refusal has the status 400, which no client repeats, unlike 501.
        if wanted is not None and (issubclass(wanted, type(error)) or wanted is codes.get("UNIMPLEMENTED")):
            error.__class__ = wanted
        return error

    module.from_http_response = from_http_response


def _replace_init(client: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Apply `change` to the options with which a client is created; they are keyword arguments only."""
    made_before = client.__init__

    @functools.wraps(made_before)
    def init(self: Any, *args: Any, **options: Any) -> None:
        made_before(self, *args, **change(options))

    client.__init__ = init


def _options(given: Any, url: str) -> Any:
    """Return the client's options with the emulator's address, or None if they name another address."""
    from google.api_core.client_options import ClientOptions, from_dict

    if given is None:
        return ClientOptions(api_endpoint=url)
    values = dict(given) if isinstance(given, dict) else dict(vars(given))
    endpoint = values.get("api_endpoint")
    if endpoint is not None and not _GOOGLE_HOST.fullmatch(endpoint):
        return None
    values["api_endpoint"] = url
    return from_dict({name: value for name, value in values.items() if value is not None})


def _divide(tensorflow: Any, count: int) -> None:
    """Set the logical devices. A program may set others until its first operation."""
    config = tensorflow.config
    if config.list_physical_devices("GPU"):
        return
    cpu = config.list_physical_devices("CPU")[0]
    config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()] * count)


def _after_import(change_of: Callable[[str], Optional[_Change]], trouble: str) -> None:  # noqa: UP045
    """Apply a change to each module imported from now on for whose name `change_of` returns one.

    An exception in a change becomes one line on standard error, `NAME cannot find TROUBLE`, and the import
    succeeds: an unknown version of a module must not keep the program from running.
    """
    sys.meta_path.insert(0, _Finder(change_of, trouble))


class _Finder:
    """A meta path finder that lets the other finders find a module, and changes it once it is loaded."""

    def __init__(self, change_of: Callable[[str], Optional[_Change]], trouble: str) -> None:  # noqa: UP045
        self._change_of = change_of
        self._trouble = trouble

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        change = self._change_of(name)
        if change is None:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if self._may_ask(finder))
        spec: Any = next((found for found in others if found is not None), None)
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if execute is None:
            return spec

        def execute_and_change(module: Any) -> None:
            execute(module)
            try:
                change(module)
            except Exception as error:
                sys.stderr.write(f"vertex-training: {name} cannot find {self._trouble}: {error}\n")

        spec.loader.exec_module = execute_and_change
        return spec

    def _may_ask(self, finder: object) -> bool:
        return finder is not self and hasattr(finder, "find_spec")
