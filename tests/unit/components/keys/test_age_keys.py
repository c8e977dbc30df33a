"""Keys of age: which are accepted, why others are refused, and public halves that match those of age itself."""

import pytest
from sample_sops_keys import age_identity

from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.keys import age_keys
from flux_tenancy.components.keys.age_keys import AgeKeyError, generate, identity_file, read_identities, read_recipient
from tests.support.messages import said

# Of age's own manual, age-keygen(1): what it derives from these identities, as far as it prints it. They are published
# there and protect nothing; another identity would have no recipient that somebody else has derived.
DOCUMENTED = {
    "AGE-SECRET-KEY-1N9JEPW6DWJ0ZQUDX63F5A03GX8QUW7PXDE39N8UYF82VZ9PC8UFS3M7XA9": (
        "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"
    ),
    "AGE-SECRET-KEY-PQ-1K30MYPZAHAXHR22YHH27EGDVLU0QNSUH3DSV7J7NR3X6D9LHXNWSDLTV4T": "age1pq167",
}
KINDS = pytest.mark.parametrize("post_quantum", [False, True], ids=["classic", "post-quantum"])


def refused(read, text) -> Message:
    with pytest.raises(AgeKeyError) as error:
        read(text)
    return message_of(error.value)


@pytest.mark.parametrize("private", DOCUMENTED)
def test_the_recipient_is_the_one_that_age_derives(private):
    [identity] = read_identities(private)

    assert identity.recipient.startswith(DOCUMENTED[private])
    # 1950 more characters than the manual prints.
    assert len(identity.recipient) == (1959 if "PQ" in private else 62)


@KINDS
def test_a_new_identity_is_unique_and_readable(post_quantum):
    first, second = generate(post_quantum), generate(post_quantum)

    assert first != second
    assert read_identities(f"{first.private}\n{second.private}") == (first, second)
    assert read_recipient(f" {first.recipient}\n") == first.recipient


@KINDS
def test_printing_an_identity_does_not_show_its_private_half(post_quantum):
    identity = generate(post_quantum)

    assert identity.private not in repr(identity)


def test_an_identity_file_keeps_its_order_and_loses_its_comments():
    first, second = age_identity("first"), age_identity("second", post_quantum=True)

    read = read_identities(
        f"# created: 2026-01-01\r\n# public key: {first.recipient}\r\n{first.private}\r\n\n {second.private}"
    )

    assert identity_file(read) == f"{first.private}\n{second.private}\n"


@pytest.mark.parametrize(
    ("line", "wording"),
    [
        (lambda: age_identity("a").recipient, "FT-CFG-702"),
        (lambda: age_identity("a").private[:-1], "FT-CFG-706"),
        (lambda: age_identity("a").private.replace("KEY-1", "KEY-1Q"), "FT-CFG-706"),
        (lambda: age_identity("a", True).private[:-1], "FT-CFG-706"),
        (lambda: age_keys.encode("age-secret-key-pq-", b"short").upper(), "FT-CFG-706"),
        (lambda: "AGE-PLUGIN-YUBIKEY-1QQQ", "FT-CFG-703"),
        (lambda: "-----BEGIN AGE ENCRYPTED FILE-----", "FT-CFG-704"),
        (lambda: "-----BEGIN OPENSSH PRIVATE KEY-----", "FT-CFG-705"),
        (lambda: "pa55word", "FT-CFG-705"),
    ],
)
def test_an_unusable_line_is_refused_by_its_number_and_not_repeated(line, wording):
    answer = refused(read_identities, f"# of a test\n{line()}\n")

    assert answer == said(wording, 2)
    assert line() not in answer


@pytest.mark.parametrize("text", ["", "\n# nothing but a comment\n"])
def test_a_file_without_an_identity_is_refused(text):
    assert refused(read_identities, text) == said("FT-CFG-700")


def test_a_duplicate_identity_is_refused():
    identity = age_identity("twice")

    answer = refused(read_identities, f"{identity.private}\n{identity.private}")

    assert answer == said("FT-CFG-701", identity.recipient)


@KINDS
def test_an_identity_instead_of_a_recipient_has_to_be_withdrawn(post_quantum):
    identity = generate(post_quantum)

    answer = refused(read_recipient, identity.private)

    assert answer == said("FT-CFG-707")
    assert identity.private not in answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "age1",
        "age1qqqq",
        "ssh-ed25519 AAAA",
        lambda: age_identity("a").recipient[:-1],
        lambda: age_identity("a").recipient.upper(),
        lambda: age_identity("a", True).recipient[:-1],
        lambda: age_keys.encode("age", bytes(31)),
        lambda: age_keys.encode("age1pq", bytes(1216 + 1)),
        lambda: age_keys.encode("age1yubikey", bytes(32)),
    ],
)
def test_an_invalid_recipient_is_refused(text):
    assert refused(read_recipient, text() if callable(text) else text) == said("FT-CFG-708")


@pytest.mark.parametrize("length", range(41))
def test_bech32_decodes_what_it_encodes(length):
    data = bytes(range(length))

    assert age_keys.decode(age_keys.encode("age", data)) == ("age", data)


@pytest.mark.parametrize("text", ["", "age", "age1", "age1b", "Age1qqqqqqqqqqqq", "age1bbbbbb"])
def test_invalid_bech32_is_refused(text):
    with pytest.raises(ValueError):
        age_keys.decode(text)


@pytest.mark.parametrize(
    "text", ["A12UEL5L", "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs"]
)
def test_the_examples_of_bip_173_are_valid_bech32(text):
    prefix, data = age_keys.decode(text)

    assert age_keys.encode(prefix, data) == text.lower()
    assert data == b""
