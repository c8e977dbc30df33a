"""Keys of age: what is taken, what is refused and why, and public halves that age itself would derive."""

import pytest
from sample_sops_keys import age_identity

from components.keys import bech32
from components.keys.age_keys import AgeKeyError, generate, identity_file, read_identities, read_recipient

# Of age's own manual, age-keygen(1): what it derives from these identities, as far as it prints it. They are published
# there and protect nothing; another identity would have no recipient that somebody else has derived.
DOCUMENTED = {
    "AGE-SECRET-KEY-1N9JEPW6DWJ0ZQUDX63F5A03GX8QUW7PXDE39N8UYF82VZ9PC8UFS3M7XA9": (
        "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"
    ),
    "AGE-SECRET-KEY-PQ-1K30MYPZAHAXHR22YHH27EGDVLU0QNSUH3DSV7J7NR3X6D9LHXNWSDLTV4T": "age1pq167",
}
KINDS = pytest.mark.parametrize("post_quantum", [False, True], ids=["classic", "post-quantum"])


def refused(read, text) -> str:
    with pytest.raises(AgeKeyError) as error:
        read(text)
    return str(error.value)


@pytest.mark.parametrize("private", DOCUMENTED)
def test_the_recipient_is_the_one_that_age_derives(private):
    [identity] = read_identities(private)

    assert identity.recipient.startswith(DOCUMENTED[private])
    # 1950 more characters than the manual prints.
    assert len(identity.recipient) == (1959 if "PQ" in private else 62)


@KINDS
def test_a_new_identity_is_another_each_time_and_can_be_read(post_quantum):
    first, second = generate(post_quantum), generate(post_quantum)

    assert first != second
    assert read_identities(f"{first.private}\n{second.private}") == (first, second)
    assert read_recipient(f" {first.recipient}\n") == first.recipient


@KINDS
def test_nobody_sees_the_private_half_by_printing_an_identity(post_quantum):
    identity = generate(post_quantum)

    assert identity.private not in repr(identity)


def test_an_identity_file_keeps_its_order_and_loses_its_comments():
    first, second = age_identity("first"), age_identity("second", post_quantum=True)

    read = read_identities(
        f"# created: 2026-01-01\r\n# public key: {first.recipient}\r\n{first.private}\r\n\n {second.private}"
    )

    assert identity_file(read) == f"{first.private}\n{second.private}\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            lambda: age_identity("a").recipient,
            "is a recipient, which is public; the identity begins with AGE-SECRET-KEY-1",
        ),
        (lambda: age_identity("a").private[:-1], "is no whole identity: something of it is missing or changed"),
        (lambda: age_identity("a").private.replace("KEY-1", "KEY-1Q"), "is no whole identity"),
        (lambda: age_identity("a", True).private[:-1], "is no whole identity"),
        (lambda: bech32.encode("age-secret-key-pq-", b"short").upper(), "is no whole identity"),
        (lambda: "AGE-PLUGIN-YUBIKEY-1QQQ", "is an identity of a plugin, and Flux has no plugins"),
        (lambda: "-----BEGIN AGE ENCRYPTED FILE-----", "is protected by a passphrase, which Flux cannot ask for"),
        (lambda: "-----BEGIN OPENSSH PRIVATE KEY-----", "is no identity, which begins with AGE-SECRET-KEY-1"),
        (lambda: "pa55word", "is no identity, which begins with AGE-SECRET-KEY-1"),
    ],
)
def test_what_is_no_identity_is_refused_by_its_line_without_repeating_it(line, reason):
    said = refused(read_identities, f"# of a test\n{line()}\n")

    assert said.startswith("has a line 2 that ")
    assert reason in said
    assert line() not in said


@pytest.mark.parametrize("text", ["", "\n# nothing but a comment\n"])
def test_a_file_without_an_identity_is_refused(text):
    assert refused(read_identities, text).startswith("holds no identity")


def test_an_identity_that_stands_there_twice_is_refused():
    identity = age_identity("twice")

    said = refused(read_identities, f"{identity.private}\n{identity.private}")

    assert said == f"has the identity of {identity.recipient} twice; keep one of them"


@KINDS
def test_an_identity_where_the_recipient_belongs_is_burnt(post_quantum):
    identity = generate(post_quantum)

    said = refused(read_recipient, identity.private)

    assert "has been readable here; withdraw it" in said
    assert identity.private not in said


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
        lambda: bech32.encode("age", bytes(31)),
        lambda: bech32.encode("age1pq", bytes(1216 + 1)),
        lambda: bech32.encode("age1yubikey", bytes(32)),
    ],
)
def test_what_is_no_recipient_is_refused(text):
    assert refused(read_recipient, text() if callable(text) else text).startswith("is no whole recipient of age")


@pytest.mark.parametrize("length", range(41))
def test_bech32_gives_back_what_it_was_given(length):
    data = bytes(range(length))

    assert bech32.decode(bech32.encode("age", data)) == ("age", data)


@pytest.mark.parametrize("text", ["", "age", "age1", "age1b", "Age1qqqqqqqqqqqq", "age1bbbbbb"])
def test_what_is_no_bech32_is_refused(text):
    with pytest.raises(ValueError):
        bech32.decode(text)


@pytest.mark.parametrize(
    "text", ["A12UEL5L", "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs"]
)
def test_the_examples_of_bip_173_are_bech32(text):
    prefix, data = bech32.decode(text)

    assert bech32.encode(prefix, data) == text.lower()
    assert data == b""
