"""The variables by which Google's libraries find the emulator, for shells and for replicas.

What they hold opens Google's services in the emulator, not its controls.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlsplit

from vertex_emulator.kernel import data_folder

REDIRECT = Path(__file__).parent / "redirect"
"""The folder for PYTHONPATH from which Python loads `sitecustomize` (see there) at its start."""


GCLOUD_SERVICES = ("AIPLATFORM", "ARTIFACTREGISTRY", "SERVICEUSAGE", "STORAGE", "LOGGING")
"""Those of gcloud that the emulator answers, as in CLOUDSDK_API_ENDPOINT_OVERRIDES_..."""


def metadata_host(url: str, token: str, project: str) -> str:
    """What GCE_METADATA_HOST has to be: host, port, and a path with the secret and the project.

    Libraries put http:// before it, and the paths of the metadata server behind it.
    """
    secret = data_folder.metadata_secret(token)
    return f"{urlsplit(url).netloc}/m/{secret}/{quote(project, safe='')}"


def credential_variables(url: str, token: str, project: str) -> dict[str, str]:
    """Where Application Default Credentials come from; `token` is the emulator's own."""
    host = metadata_host(url, token, project)
    return {
        "GCE_METADATA_HOST": host,
        "GCE_METADATA_IP": host,
        "GCE_METADATA_ROOT": host,  # gcloud's name for it
    }


def replica_variables(url: str, token: str, project: str) -> dict[str, str]:
    """All that a replica gets. Its token is the services'."""
    root = f"{url}/"
    return {
        "VERTEX_EMULATOR_HOST": url,
        "VERTEX_EMULATOR_TOKEN": data_folder.service_token(token),
        "STORAGE_EMULATOR_HOST": f"{url}/s/{data_folder.storage_secret(token)}",
        "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": root for name in GCLOUD_SERVICES},
        **credential_variables(url, token, project),
    }
