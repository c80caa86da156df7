"""Real certificates, made for one test: an authority, and whom it vouches for."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HOUR = timedelta(hours=1)


@dataclass
class Pair:
    """A certificate and its private key, as files."""

    cert: Path
    key: Path

    def replace(self, other: "Pair") -> None:
        """Put another pair into these files, the key first."""
        self.key.write_bytes(other.key.read_bytes())
        self.cert.write_bytes(other.cert.read_bytes())


class Authority:
    """Issues certificates that are valid for an hour, unless another time is given."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(self._name, self._name, self._key)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        signs = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(signs, True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def issue(
        self,
        name: str,
        *,
        server: bool = False,
        age: timedelta = timedelta(),
        lasts: timedelta = HOUR,
        host: str = "localhost",
    ) -> Pair:
        """Return a pair for a server on the loopback address, or for a caller."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        use = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        names = [
            x509.DNSName("localhost"),
            x509.DNSName(host),
            x509.IPAddress(ip_address("127.0.0.1")),
        ]
        builder = (
            _builder(subject, self._name, key, age, lasts)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
            .add_extension(x509.ExtendedKeyUsage([use]), False)
            .add_extension(x509.SubjectAlternativeName(names), False)
        )
        pair = Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        pair.cert.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair

    def trusting(self, pair: Pair | None = None) -> ssl.SSLContext:
        """Return a caller's context that trusts this authority, and may show a certificate."""
        context = ssl.create_default_context(cafile=str(self.file))
        if pair is not None:
            context.load_cert_chain(pair.cert, pair.key)
        return context


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    age: timedelta = timedelta(),
    lasts: timedelta = HOUR,
) -> x509.CertificateBuilder:
    begins = datetime.now(UTC) - timedelta(minutes=1) - age
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + lasts)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
