"""The files with which Java programs use the proxy: an agent, and the authorities in Java's own format.

Java reads none of the variables of other programs. The agent is compiled from ProxyAgent.java.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import struct
from pathlib import Path

AGENT = Path(__file__).with_name("proxy-agent.jar")

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2
_USUAL = "changeit"
"""Java's usual password for authorities. It protects nothing: Java reads the file without it."""


def trust_store(authorities: bytes) -> bytes:
    """Return the certificates of a PEM file as a key store of the type JKS, which every Java reads."""
    certificates = [
        ssl.PEM_cert_to_DER_cert(each) for each in _CERTIFICATE.findall(authorities.decode("latin-1"))
    ]
    data = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        data += struct.pack(">I", _TRUSTED) + _text(f"authority-{number}") + bytes(8)
        data += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    sealed = _USUAL.encode("utf-16-be") + b"Mighty Aphrodite" + data
    return data + hashlib.sha1(sealed, usedforsecurity=False).digest()


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")
