"""The variables through which Google's libraries and tools find the emulator, for shells and for replicas.

Their secrets give access to Google's services in the emulator, but not to the emulator's controls.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.server.proxy import variables as proxy_variables

if TYPE_CHECKING:
    from vertex_emulator.client.launcher import Emulator


REDIRECT = Path(__file__).parent / "redirect"
"""The PYTHONPATH folder from which Python loads `sitecustomize` at its start."""


GCSFS = "FSSPEC_GCS_ENDPOINT_URL"
"""The address of Cloud Storage for gcsfs, which uses no proxy unless each program asks for it."""


SIGNING_KEY = "VERTEX_EMULATOR_SIGNING_KEY"
"""The path of the key file. Programs get tokens for it only through the proxy."""


GCLOUD_SERVICES = (
    "AIPLATFORM",
    "ARTIFACTREGISTRY",
    "CLOUDRESOURCEMANAGER",
    "IAM",
    "LOGGING",
    "SECRETMANAGER",
    "SERVICEUSAGE",
    "STORAGE",
)
"""The services of gcloud that the emulator implements, as in CLOUDSDK_API_ENDPOINT_OVERRIDES_..."""


_VERSIONS = {
    "aiplatform.googleapis.com": "v1",
    "artifactregistry.googleapis.com": "v1",
    "storage.googleapis.com": "storage/v1",
    "logging.googleapis.com": "v2",
    "cloudscheduler.googleapis.com": "v1",
    "cloudresourcemanager.googleapis.com": "v3",
    "serviceusage.googleapis.com": "v1",
    "cloudquotas.googleapis.com": "v1",
    "monitoring.googleapis.com": "v3",
    "iam.googleapis.com": "v1",
    "secretmanager.googleapis.com": "v1",
    "docker.pkg.dev": "v2",
}


def service_addresses(url: str) -> dict[str, str]:
    """Return the address of each service of the emulator at a URL."""
    return {service: f"{url}/{path}" for service, path in _VERSIONS.items()}


def metadata_host(url: str, token: str, project: str) -> str:
    """Return the value of GCE_METADATA_HOST: host, port, and a path with the secret and the project.

    Libraries add http:// in front and the paths of the metadata server at the end.
    """
    secret = data_folder.metadata_secret(token)
    return f"{urlsplit(url).netloc}/m/{secret}/{quote(project, safe='')}"


def credential_variables(url: str, token: str, project: str) -> dict[str, str]:
    """Return the variables for Application Default Credentials. `token` is the emulator's own."""
    host = metadata_host(url, token, project)
    return {
        "GCE_METADATA_HOST": host,
        "GCE_METADATA_IP": host,
        "GCE_METADATA_ROOT": host,  # gcloud's name for it
    }


def replica_variables(url: str, token: str, project: str, *, proxied: bool = False) -> dict[str, str]:
    """Return all variables of a replica except for the proxy's. Its token is for the services only.

    With the proxy there is no STORAGE_EMULATOR_HOST: the libraries of Go and Node drop its path, and with it
    the secret.
    """
    root = f"{url}/"
    storage_url = f"{url}/s/{data_folder.storage_secret(token)}"
    return {
        "VERTEX_EMULATOR_HOST": url,
        "VERTEX_EMULATOR_TOKEN": data_folder.service_token(token),
        **({GCSFS: storage_url} if proxied else {"STORAGE_EMULATOR_HOST": storage_url}),
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": root for name in GCLOUD_SERVICES},
        **credential_variables(url, token, project),
    }


_LOCAL = ("127.0.0.1", "localhost")


def variables(
    emulator: Emulator, *, project: str, location: str, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables by name. NO_PROXY and PYTHONPATH of the caller's `environment` are extended."""
    root = f"{emulator.url}/"  # gcloud refuses an override without a slash at its end
    no_proxy = _no_proxy(environment)
    # The caller's own credentials would precede the metadata server's, and be sent here.
    own_key = (
        {"GOOGLE_APPLICATION_CREDENTIALS": ""} if environment.get("GOOGLE_APPLICATION_CREDENTIALS") else {}
    )
    return {
        "VERTEX_EMULATOR_HOST": emulator.url,
        "VERTEX_EMULATOR_TOKEN": emulator.token,
        "STORAGE_EMULATOR_HOST": emulator.storage_url,
        # gcsfs would query the kind of a bucket over gRPC, and wait a minute for a response.
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": root for name in GCLOUD_SERVICES},
        **credential_variables(emulator.url, emulator.token, project),
        **own_key,
        "CLOUDSDK_CONFIG": str(emulator.data_dir / "gcloud"),
        "PYTHONPATH": _python_path(environment),
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(emulator.data_dir / "token"),
        "CLOUDSDK_CORE_PROJECT": project,
        "CLOUDSDK_AI_REGION": location,
        "GOOGLE_CLOUD_PROJECT": project,
        "REGISTRY_AUTH_FILE": str(emulator.data_dir / "docker" / "config.json"),
        "NO_PROXY": no_proxy,
        "no_proxy": no_proxy,
    }


def with_proxy(
    values: Mapping[str, str],
    emulator: Emulator,
    *,
    proxy: str,
    environment: Mapping[str, str],
    java: bool = False,
) -> dict[str, str]:
    """Return the variables of a shell whose programs use the proxy at `proxy` (host and port).

    The variables of `WITHOUT_PROXY` are not among them: the libraries of Go and Node drop the path of
    STORAGE_EMULATOR_HOST, and Python's libraries need no `sitecustomize`. With `java`, all Java programs use
    the proxy.
    """
    url = proxy_variables.proxy_url(proxy, data_folder.proxy_secret(emulator.token))
    kept = {name: value for name, value in values.items() if name not in WITHOUT_PROXY}
    logins = data_folder.DataFolder(root=emulator.data_dir).google_registry_auth
    kept["REGISTRY_AUTH_FILE"] = str(logins)  # skopeo, buildah, podman
    kept["DOCKER_CONFIG"] = str(logins.parent)  # oras, crane, regctl, docker
    python_path = _python_path(environment, redirected=False)
    if key := values.get(SIGNING_KEY):
        kept["GOOGLE_APPLICATION_CREDENTIALS"] = key
    return {
        **kept,
        GCSFS: emulator.storage_url,
        **({"PYTHONPATH": python_path} if python_path else {}),
        **proxy_variables.shell_variables(url, data_dir=emulator.data_dir, environment=environment),
        **(
            proxy_variables.java_variables(data_dir=emulator.data_dir, environment=environment)
            if java
            else {}
        ),
    }


WITHOUT_PROXY = ("STORAGE_EMULATOR_HOST", "PYTHONPATH")
"""The variables of a shell without the proxy that one with the proxy does not have."""


def exports(values: Mapping[str, str]) -> list[str]:
    """Return the lines for a POSIX shell's eval."""
    return [f"export {name}={shlex.quote(value)}" for name, value in values.items()]


def _python_path(environment: Mapping[str, str], *, redirected: bool = True) -> str:
    """Return PYTHONPATH with the folder of `sitecustomize` first, once, or without it."""
    first = str(REDIRECT)
    present = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    others = [entry for entry in present if entry != first]
    return os.pathsep.join([first, *others] if redirected else others)


def _no_proxy(environment: Mapping[str, str]) -> str:
    present = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    hosts = [host.strip() for host in present.split(",") if host.strip()]
    return ",".join([*hosts, *(host for host in _LOCAL if host not in hosts)])
