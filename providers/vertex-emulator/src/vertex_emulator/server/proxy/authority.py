"""The certificate authority of one data folder, whose certificates are for Google's hosts only.

A root signs an intermediate certificate, and its key is thrown away. The name constraints of the intermediate
(RFC 5280, 4.2.1.10) allow Google's domains and no address: whoever reads its key cannot pretend to be another
site, even to a program that trusts the root. The constraints are not on the root, because Java ignores those
of a root. Nothing is installed into a store of the system: programs get a bundle through a variable.
"""

from __future__ import annotations

import os
import ssl
import tempfile
import threading
from collections import OrderedDict
from datetime import datetime, timedelta, timezone
from ipaddress import ip_network
from pathlib import Path

import certifi
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vertex_emulator.server.proxy import java
from vertex_emulator.server.proxy.hosts import DOMAINS
from vertex_emulator.server.proxy.variables import BUNDLE, FOLDER, JAVA_AGENT, JAVA_TRUST, ROOT, is_own_file

PROTOCOLS = ("http/1.1", "h2")
"""In the order of preference: clients that know both, as Go's do, get HTTP/1.1; gRPC knows h2 only."""

_YEARS = timedelta(days=5 * 365)
_RENEW_BEFORE = timedelta(days=90)
_HOST_DAYS = timedelta(days=30)
_SKEW = timedelta(days=1)
_MAX_CONTEXTS = 256


class Authority:
    """The authority of a data folder, which is made at its first use and renewed before it expires.

    The key is in proxy/, and the public certificates are in a folder of their own, which replicas see.
    """

    def __init__(self, data_dir: Path) -> None:
        self.certificates = data_dir / FOLDER
        self._folder = self.certificates.parent
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.certificates.mkdir(exist_ok=True)
        self._lock = threading.Lock()
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()
        if not self._is_usable():
            self._make()
        self._certificate, self._key = self._read()
        self._write_bundle()

    @property
    def root(self) -> Path:
        """The root certificate, in PEM."""
        return self.certificates / ROOT

    @property
    def bundle(self) -> Path:
        """The root certificate with the system's authorities, in PEM."""
        return self.certificates / BUNDLE

    def context(self, host: str) -> ssl.SSLContext:
        """Return the TLS settings of a server that is `host`, which must be below one of `DOMAINS`."""
        with self._lock:
            if host in self._contexts:
                self._contexts.move_to_end(host)
                return self._contexts[host]
            context = self._contexts[host] = self._new_context(host)
            while len(self._contexts) > _MAX_CONTEXTS:
                self._contexts.popitem(last=False)
            return context

    @property
    def _intermediate(self) -> Path:
        return self._folder / "intermediate.pem"

    def _is_usable(self) -> bool:
        try:
            certificate, _ = self._read()
            root = x509.load_pem_x509_certificate(self.root.read_bytes())
            certificate.verify_directly_issued_by(root)
        except (OSError, ValueError, TypeError, InvalidSignature):
            return False
        return certificate.not_valid_after_utc - _RENEW_BEFORE > datetime.now(timezone.utc)

    def _read(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        """Return certificate and key of the intermediate authority."""
        data = self._intermediate.read_bytes()
        key = serialization.load_pem_private_key(data, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{self._intermediate} has a key of another kind")
        return x509.load_pem_x509_certificate(data), key

    def _make(self) -> None:
        root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        root_name, name = _name("vertex-training emulator"), _name("vertex-training emulator, Google's hosts")
        root = (
            _builder(root_name, root_name, root_key.public_key(), _YEARS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(root_key.public_key()), critical=False)
            .sign(root_key, hashes.SHA256())
        )
        constraints = x509.NameConstraints(
            permitted_subtrees=[x509.DNSName(domain) for domain in DOMAINS],
            excluded_subtrees=[x509.IPAddress(ip_network(each)) for each in ("0.0.0.0/0", "::/0")],
        )
        intermediate = (
            _builder(name, root_name, key.public_key(), _YEARS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(constraints, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), critical=False
            )
            .sign(root_key, hashes.SHA256())
        )
        _write(self._intermediate, _pem(intermediate) + _private(key), mode=0o600)
        _write(self.root, _pem(root), mode=0o644)

    def _new_context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(_name(host[:64]), self._certificate.subject, key.public_key(), _HOST_DAYS)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(list(PROTOCOLS))
        with tempfile.NamedTemporaryFile(dir=self._folder) as file:  # created with mode 0600
            file.write(_pem(certificate) + _pem(self._certificate) + _private(key))
            file.flush()
            context.load_cert_chain(file.name)
        return context

    def _write_bundle(self) -> None:
        authorities = self.root.read_bytes() + system_authorities()
        _write(self.bundle, authorities, mode=0o644)
        _write(self.certificates / JAVA_TRUST, java.trust_store(authorities), mode=0o644)
        _write(self.certificates / JAVA_AGENT, java.AGENT.read_bytes(), mode=0o644)


def system_authorities() -> bytes:
    """Return the authorities that this machine trusts, in PEM: of SSL_CERT_FILE, the system, or certifi."""
    paths = ssl.get_default_verify_paths()
    for path in (os.environ.get("SSL_CERT_FILE"), paths.cafile, paths.openssl_cafile, certifi.where()):
        if path and not is_own_file(path) and (data := _read_if_there(Path(path))):
            return data
    return b""


def _read_if_there(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lasts: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + lasts)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file, which no program sees in part."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.touch(mode=mode, exist_ok=False)
    part.write_bytes(data)
    part.replace(path)
