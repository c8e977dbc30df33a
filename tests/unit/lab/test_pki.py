import datetime
import ipaddress
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from dev.lab import certificates
from dev.lab.certificates import NO_GROUP
from dev.lab.pki import API_AUTHORITY, INTERNAL_AUTHORITY, Pki

INTERNAL = ("etcd", "etcd-client", "kubelet-client", "front-proxy-client")


@pytest.fixture
def pki(tmp_path) -> Pki:
    made = Pki(tmp_path / "pki", "lab", "127.65.0.1")
    made.renew()
    return made


def certificate(pki: Pki, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pki.pair(name).certificate.read_bytes())


def content(pki: Pki) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in pki.folder.iterdir()}


def renewed(pki: Pki) -> set[str]:
    """Names of the certificates that are renewed."""
    before = content(pki)
    assert not pki.is_usable()
    pki.renew()
    assert pki.is_usable()
    after = content(pki)
    return {Path(name).stem for name in after if after[name] != before.get(name)}


def test_new_certificates_are_usable_and_not_renewed_and_only_their_owner_reads_private_keys(pki):
    before, keys = content(pki), list(pki.folder.glob("*.key"))

    assert pki.is_usable()
    pki.renew()

    assert content(pki) == before
    assert len(keys) > 10
    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}


def test_the_api_servers_certificate_is_for_loopback_and_the_service_kubernetes(pki):
    names = certificate(pki, "kube-apiserver").extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert {"localhost", "kubernetes.default", "kubernetes.default.svc.cluster.local"} <= set(
        names.get_values_for_type(x509.DNSName)
    )
    assert set(names.get_values_for_type(x509.IPAddress)) == {
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("127.65.0.1"),
    }


@pytest.mark.parametrize(
    ("name", "user", "groups"),
    [
        ("admin", "lab:admin", ["system:masters"]),
        ("node-agent", "system:node:lab", ["system:nodes"]),
        ("kube-proxy", "system:kube-proxy", [NO_GROUP]),
        ("kube-controller-manager", "system:kube-controller-manager", [NO_GROUP]),
        ("kube-scheduler", "system:kube-scheduler", [NO_GROUP]),
        # Servers' certificates also authenticate clients, but as users without rights.
        ("kube-apiserver", "kube-apiserver", [NO_GROUP]),
        ("node-agent-server", "system:node:lab", [NO_GROUP]),
    ],
)
def test_users_of_the_api_have_the_names_and_groups_that_rbac_knows_and_no_others(pki, name, user, groups):
    subject = certificate(pki, name).subject

    assert [each.value for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [user]
    assert [each.value for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == groups


def test_etcd_and_the_node_agent_do_not_trust_certificates_of_the_apis_authority(pki):
    for name in INTERNAL:
        certificate(pki, name).verify_directly_issued_by(certificate(pki, INTERNAL_AUTHORITY))
    with pytest.raises((InvalidSignature, ValueError)):
        certificate(pki, "admin").verify_directly_issued_by(certificate(pki, INTERNAL_AUTHORITY))
    certificate(pki, "admin").verify_directly_issued_by(certificate(pki, API_AUTHORITY))


def test_a_clients_certificate_serves_no_host_of_this_machine(pki):
    def serves_this_machine(name: str) -> bool:
        hosts = certificate(pki, name).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return not {"localhost", "127.0.0.1"}.isdisjoint(str(host.value) for host in hosts)

    clients = ("admin", "node-agent", "kube-proxy", "etcd-client", "kubelet-client", "front-proxy-client")
    assert all(map(serves_this_machine, ("kube-apiserver", "etcd", "node-agent-server")))
    assert not any(map(serves_this_machine, clients))


@pytest.mark.parametrize("file", ["certificate", "key"])
def test_a_damaged_file_is_renewed(pki, file):
    getattr(pki.pair("kube-scheduler"), file).write_bytes(b"-----BEGIN CERTIFICATE-----\n")

    assert renewed(pki) == {"kube-scheduler"}


def test_an_authority_is_renewed_with_all_its_certificates(pki):
    pki.pair(INTERNAL_AUTHORITY).key.unlink()

    assert renewed(pki) == {INTERNAL_AUTHORITY, *INTERNAL}


def test_certificates_are_renewed_a_month_before_they_expire(tmp_path, monkeypatch):
    pki = Pki(tmp_path, "lab", "127.65.0.1")
    monkeypatch.setattr(certificates, "_LIFETIME", datetime.timedelta(days=29))
    pki.renew()
    assert not pki.is_usable()

    monkeypatch.undo()
    assert API_AUTHORITY not in renewed(pki)

    left = certificate(pki, "admin").not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    assert left > datetime.timedelta(days=300)
