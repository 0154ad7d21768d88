"""The authority's certificates, as OpenSSL judges them in real handshakes."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.clients.forged_certificates import forged
from vertex_emulator.server.proxy import authority
from vertex_emulator.server.proxy.authority import Authority


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("data"))


def shake_hands(server: ssl.SSLContext, name: str, trusted: Path, protocols: tuple[str, ...] = ()) -> str:
    """Do a TLS handshake in memory. Return the protocol that was agreed on, or "". Raises `SSLError`."""
    client = ssl.create_default_context(cafile=str(trusted))
    if protocols:
        client.set_alpn_protocols(list(protocols))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(6):
        for end in ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    assert ends[0].version(), "the handshake is complete"
    return ends[0].selected_alpn_protocol() or ""


@pytest.mark.parametrize(
    "host",
    [
        "storage.googleapis.com",
        "us-central1-aiplatform.googleapis.com",
        "aiplatform.us-central1.rep.googleapis.com",
        "my.bucket_1.storage.googleapis.com",
        "us-central1-docker.pkg.dev",
        "gcr.io",
        "eu.gcr.io",
    ],
)
@pytest.mark.parametrize("trusted", ["root", "bundle"])
def test_a_client_that_trusts_it_accepts_googles_hosts(made: Authority, host: str, trusted: str) -> None:
    shake_hands(made.context(host), host, getattr(made, trusted))


def test_a_client_that_does_not_trust_it_refuses_them(made: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(made.context("gcr.io"), "gcr.io", other.bundle)


def test_a_certificate_is_for_one_host(made: Authority) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(made.context("gcr.io"), "eu.gcr.io", made.root)


@pytest.mark.parametrize(
    ("san", "name"),
    [
        pytest.param(x509.DNSName("example.com"), "example.com", id="another site"),
        pytest.param(x509.DNSName("googleapis.com.example.com"), "googleapis.com.example.com", id="prefix"),
        pytest.param(x509.DNSName("evilgoogleapis.com"), "evilgoogleapis.com", id="the end of a label"),
        pytest.param(x509.DNSName("accounts.google.com"), "accounts.google.com", id="Google, not emulated"),
        pytest.param(x509.IPAddress(ip_address("192.0.2.1")), "192.0.2.1", id="IPv4"),
        pytest.param(x509.IPAddress(ip_address("2001:db8::1")), "2001:db8::1", id="IPv6"),
    ],
)
def test_its_key_cannot_sign_for_others(
    made: Authority, tmp_path: Path, san: x509.GeneralName, name: str
) -> None:
    data_dir = made.certificates.parent.parent
    with pytest.raises(ssl.SSLCertVerificationError, match=r"permitted subtree|excluded subtree"):
        shake_hands(forged(data_dir, san, "x", tmp_path / "chain.pem"), name, made.root)


def test_its_key_signs_for_googles_hosts(made: Authority, tmp_path: Path) -> None:
    """Show that the refusals above are of the names."""
    data_dir = made.certificates.parent.parent
    server = forged(data_dir, x509.DNSName("gcr.io"), "x", tmp_path / "chain.pem")
    shake_hands(server, "gcr.io", made.root)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(("h2", "http/1.1"), "http/1.1"), (("http/1.1",), "http/1.1"), (("h2",), "h2"), ((), "")],
    ids=["Go and curl", "requests", "gRPC", "Node"],
)
def test_the_protocol(made: Authority, offered: tuple[str, ...], chosen: str) -> None:
    assert shake_hands(made.context("gcr.io"), "gcr.io", made.root, offered) == chosen


def test_files_and_their_modes(made: Authority) -> None:
    folder = made.certificates.parent
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    assert modes == {
        "intermediate.pem": 0o600,
        **dict.fromkeys(("root.pem", "bundle.pem", "authorities.jks", "java-agent.jar"), 0o644),
    }
    assert folder.stat().st_mode & 0o777 == 0o700
    keys = [path.name for path in folder.rglob("*.pem") if b"PRIVATE KEY" in path.read_bytes()]
    assert keys == ["intermediate.pem"], "the key of the root is nowhere"
    assert made.bundle.read_bytes() == made.root.read_bytes() + authority.system_authorities()
    assert len(authority.system_authorities()) > 10_000


def expired(data_dir: Path) -> None:
    """Replace the intermediate certificate by one that ends soon."""
    Authority(data_dir)
    path = data_dir / "proxy" / "intermediate.pem"
    issuer = x509.load_pem_x509_certificate(path.read_bytes())
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(timezone.utc)
    soon = (
        x509.CertificateBuilder()
        .subject_name(issuer.subject)
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=80))
        .sign(key, hashes.SHA256())
    )
    data = soon.public_bytes(serialization.Encoding.PEM)
    (data_dir / "proxy" / "certificates" / "root.pem").write_bytes(data)
    path.write_bytes(
        data
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def cut_off(data_dir: Path) -> None:
    path = data_dir / "proxy" / "intermediate.pem"
    path.write_bytes(path.read_bytes()[:300])


def of_another(data_dir: Path) -> None:
    other = Authority(data_dir / "other")
    other.root.replace(data_dir / "proxy" / "certificates" / "root.pem")


@pytest.mark.parametrize("spoil", [expired, cut_off, of_another])
def test_it_is_made_again(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    first = Authority(tmp_path).root.read_bytes()
    spoil(tmp_path)
    again = Authority(tmp_path)
    assert again.root.read_bytes() != first
    shake_hands(again.context("gcr.io"), "gcr.io", again.bundle)


def test_it_stays_the_same_while_it_is_valid(tmp_path: Path) -> None:
    first = Authority(tmp_path).root.read_bytes()
    assert Authority(tmp_path).root.read_bytes() == first


def test_a_bundle_of_an_emulator_does_not_get_into_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    before = authority.system_authorities()
    monkeypatch.setenv("SSL_CERT_FILE", str(Authority(tmp_path / "one").bundle))
    assert authority.system_authorities() == before
    own = tmp_path / "own.pem"
    own.write_bytes(b"of a company")
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    assert authority.system_authorities() == b"of a company"
