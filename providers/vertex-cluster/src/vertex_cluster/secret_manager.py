"""Read a secret of Secret Manager as the account of this replica, by the standard library.

A job's environment variables are shown to everybody who may read the job, so they have the names of secrets.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:  # loaded where they are used: with TLS and e-mail they are a third of this package's import
    import urllib.error
    import urllib.request

__all__ = ["SecretError", "secret"]

_NAME = re.compile(
    r"projects/[^/\s]+(?:/locations/[a-z0-9-]+)?/secrets/[A-Za-z0-9_-]{1,255}"
    r"(?:/versions/(?P<version>[0-9]+|[A-Za-z][A-Za-z0-9_-]*))?"
)
_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
_METADATA = "metadata.google.internal"
_ACCOUNT = "/computeMetadata/v1/instance/service-accounts/default"
_ATTEMPTS = 4
_SECONDS = 30.0


class SecretError(Exception):
    """A secret cannot be read; the message says why, and what to do. It never has a value."""


def secret(name: str, *, version: str = "latest", project: Optional[str] = None) -> str:
    """Return the value of a secret of Secret Manager, as text.

        token = vertex_cluster.secret("projects/my-project/secrets/wandb")

    `name` is an id, or a full name, also with a location or a version. `project` defaults to the job's. See
    docs/guides/programs/secrets.md. Raises SecretError.
    """
    import urllib.request

    full = _full_name(name, version, project)
    location = full.partition("/locations/")[2].partition("/")[0]
    host = f"secretmanager.{location}.rep.googleapis.com" if location else "secretmanager.googleapis.com"
    # gcloud's variable for the address of the service, which the emulator sets.
    root = os.environ.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER") or f"https://{host}/"
    token = json.loads(_metadata("/token"))["access_token"]
    request = urllib.request.Request(  # noqa: S310 - an address of Google or of the emulator
        f"{root.rstrip('/')}/v1/{full}:access", headers={"Authorization": f"Bearer {token}"}
    )
    answer = _answer(full, urllib.request.build_opener(), request)
    try:
        payload = base64.b64decode(json.loads(answer)["payload"].get("data", ""))
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        raise SecretError(f"The secret {full} is not text. Store it as text, such as base64.") from None
    except (ValueError, KeyError, AttributeError, TypeError):
        raise SecretError(f"The answer for the secret {full} cannot be read.") from None


def _full_name(name: str, version: str, project: Optional[str]) -> str:
    match = _NAME.fullmatch(name)
    if match:
        return name if match["version"] else f"{name}/versions/{version}"
    if not _ID.fullmatch(name):
        raise SecretError(
            f"{name!r} is not the name of a secret. Give its id, or projects/PROJECT/secrets/ID."
        )
    # The metadata server's project is one of Google's, in which the replicas run.
    known = project or os.environ.get("CLOUD_ML_PROJECT_ID", "")
    if not known:
        raise SecretError(
            f"The project of the secret {name} is not known: CLOUD_ML_PROJECT_ID is not set outside of a "
            f"job. Give projects/PROJECT/secrets/{name}."
        )
    return f"projects/{known}/secrets/{name}/versions/{version}"


def _metadata(path: str) -> bytes:
    """Return an answer of the metadata server, which no proxy reaches. Raises SecretError."""
    import urllib.request

    host = os.environ.get("GCE_METADATA_HOST") or _METADATA
    url = f"http://{host}{_ACCOUNT}{path}"
    request = urllib.request.Request(url, headers={"Metadata-Flavor": "Google"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return _answer("", direct, request)


def _answer(name: str, opener: urllib.request.OpenerDirector, request: urllib.request.Request) -> bytes:
    """Return the answer to a request, of a secret or, without a name, of the metadata server."""
    import urllib.error

    what = f"The secret {name}" if name else "The metadata server, which has the account of this replica,"
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(0.5 * 2**attempt)
        try:
            with opener.open(request, timeout=_SECONDS) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            status, words = error.code, _words(error)
            if status != 429 and status < 500:
                break
        except OSError as error:
            status, words = 0, str(error)
    remedy = _remedy(name, status)
    raise SecretError(f"{what} cannot be read: {words}{'.' if words[-1:] != '.' else ''}{remedy}") from None


def _words(error: urllib.error.HTTPError) -> str:
    """Return the service's message of an error."""
    try:
        document: Mapping[str, Any] = json.loads(error.read())
        return str(document["error"]["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"{error.code} {error.reason}"


def _remedy(name: str, status: int) -> str:
    secret_name = name.rpartition("/versions/")[0]
    if not name:
        return " Is this process in a job?"
    if status == 403:
        try:
            member = "serviceAccount:" + _metadata("/email").decode("ascii", "replace")
        except SecretError:
            member = "serviceAccount:ACCOUNT"
        return (
            f" Let the account of the job read it: gcloud secrets add-iam-policy-binding {secret_name} "
            f"--member={member} --role=roles/secretmanager.secretAccessor"
        )
    if status == 404:
        return f" Check its name with `gcloud secrets versions list {secret_name}`."
    return ""
