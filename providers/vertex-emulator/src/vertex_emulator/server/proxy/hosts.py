"""The hosts of Google's services that the emulator has. Imports nothing heavy."""

from __future__ import annotations

import re

DOMAINS = ("googleapis.com", "pkg.dev", "gcr.io")
"""The domains of the emulated services. REGION-aiplatform.googleapis.com is below no smaller domain."""

_REGION = r"[a-z]+-[a-z]+[0-9]{1,2}"
_EMULATED = re.compile(
    r"(?:www|storage|logging|artifactregistry|cloudresourcemanager|cloudscheduler"
    r"|serviceusage|cloudquotas|monitoring|iam|compute|oauth2|iamcredentials|secretmanager"
    rf"|aiplatform|{_REGION}-(?:prediction-)?aiplatform)"
    r"\.googleapis\.com"
    r"|[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]\.storage\.googleapis\.com"
    rf"|aiplatform\.{_REGION}\.rep\.googleapis\.com"
    rf"|(?:{_REGION}|us|europe|asia)-docker\.pkg\.dev"
    r"|(?:(?:us|eu|asia)\.)?gcr\.io"
)


def is_emulated(host: str) -> bool:
    """Return whether a host belongs to a service that the emulator has."""
    return _EMULATED.fullmatch(host) is not None


def is_api(host: str) -> bool:
    """Return whether a host belongs to an API of Google, to which programs send tokens."""
    return host.endswith(".googleapis.com")


def is_within(host: str) -> bool:
    """Return whether a host is one of `DOMAINS` or below one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in DOMAINS)
