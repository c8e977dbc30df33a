"""Keys of age: which are accepted, why others are refused, and public halves that match those of age itself."""

import pytest
from sample_sops_keys import age_identity

from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.keys.age_keys import (
    AgeIdentity,
    check_recipients,
    generate,
    identity_file,
    read_identities,
    read_recipient,
    with_recipients,
)
from flux_tenancy.components.keys.armor import InvalidKeyError
from tests.support import post_quantum_key
from tests.support.messages import said

POST_QUANTUM = AgeIdentity(post_quantum_key.IDENTITY, post_quantum_key.RECIPIENT)


def refused(read, text) -> Message:
    with pytest.raises(InvalidKeyError) as error:
        read(text)
    return message_of(error.value)


def test_the_recipient_is_the_one_that_age_derives():
    # Of age's own manual, age-keygen(1); another identity would have no recipient that somebody else has derived.
    [identity] = read_identities("AGE-SECRET-KEY-1N9JEPW6DWJ0ZQUDX63F5A03GX8QUW7PXDE39N8UYF82VZ9PC8UFS3M7XA9")

    assert identity.recipient == "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"


def test_a_new_identity_is_unique_and_readable():
    first, second = generate(), generate()

    assert first != second
    assert read_identities(f"{first.private}\n{second.private}") == (first, second)
    assert read_recipient(f" {first.recipient}\n") == first.recipient


def test_a_post_quantum_identity_is_kept_as_it_is_with_the_recipient_at_its_place():
    classic = generate()
    read = read_identities(f"{classic.private}\n{POST_QUANTUM.private}\n")

    assert identity_file(read) == f"{classic.private}\n{POST_QUANTUM.private}\n"
    assert with_recipients(read, [classic.recipient, POST_QUANTUM.recipient]) == (classic, POST_QUANTUM)
    assert read_recipient(f" {POST_QUANTUM.recipient}\n") == POST_QUANTUM.recipient


@pytest.mark.parametrize("listed", [[], [generate().recipient]], ids=["none", "a classic one"])
def test_a_post_quantum_identity_without_its_recipient_is_refused(listed):
    answer = refused(
        lambda text: check_recipients(with_recipients(read_identities(text), listed)), POST_QUANTUM.private
    )

    assert answer == said("FT-CFG-709", 1)


@pytest.mark.parametrize("identity", [generate(), POST_QUANTUM], ids=["classic", "post-quantum"])
def test_printing_an_identity_does_not_show_its_private_half(identity):
    assert identity.private not in repr(identity)


def test_an_identity_file_keeps_its_order_and_loses_its_comments():
    first, second = age_identity("first"), POST_QUANTUM

    read = read_identities(
        f"# created: 2026-01-01\r\n# public key: {first.recipient}\r\n{first.private}\r\n\n {second.private}"
    )

    assert identity_file(read) == f"{first.private}\n{second.private}\n"


@pytest.mark.parametrize(
    ("line", "wording"),
    [
        (lambda: age_identity("a").recipient, "FT-CFG-135"),
        (lambda: age_identity("a").private[:-1], "FT-CFG-124"),
        (lambda: age_identity("a").private.replace("KEY-1", "KEY-1Q"), "FT-CFG-124"),
        (lambda: POST_QUANTUM.private[:-1], "FT-CFG-124"),
        (lambda: POST_QUANTUM.private.replace("PQ-1", "PQ-1Q"), "FT-CFG-124"),
        (lambda: POST_QUANTUM.private.replace("K30", "B30"), "FT-CFG-124"),
        (lambda: "AGE-PLUGIN-YUBIKEY-1QQQ", "FT-CFG-135"),
        (lambda: "-----BEGIN AGE ENCRYPTED FILE-----", "FT-CFG-135"),
        (lambda: "-----BEGIN OPENSSH PRIVATE KEY-----", "FT-CFG-135"),
        (lambda: "pa55word", "FT-CFG-135"),
    ],
)
def test_an_unusable_line_is_refused_by_its_number_and_not_repeated(line, wording):
    answer = refused(read_identities, f"# of a test\n{line()}\n")

    assert answer.code == wording and "line 2" in answer
    assert line() not in answer


@pytest.mark.parametrize("text", ["", "\n# nothing but a comment\n"])
def test_a_file_without_an_identity_is_refused(text):
    assert refused(read_identities, text) == said(
        "FT-CFG-135", "a list of age identities", "one of `flux-tenancy key sops`, which begins with AGE-SECRET-KEY-1"
    )


@pytest.mark.parametrize("identity", [generate(), POST_QUANTUM], ids=["classic", "post-quantum"])
def test_a_duplicate_identity_is_refused(identity):
    assert refused(read_identities, f"{identity.private}\n{identity.private}") == said(
        "FT-CFG-403", "the age identity of line 2"
    )


@pytest.mark.parametrize("identity", [generate(), POST_QUANTUM], ids=["classic", "post-quantum"])
def test_an_identity_instead_of_a_recipient_has_to_be_withdrawn(identity):
    answer = refused(read_recipient, identity.private)

    assert answer == said("FT-CFG-720", "the recipient (age1…) of another one")
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
        POST_QUANTUM.recipient[:-1],
        f"{POST_QUANTUM.recipient}q",
        "age1yubikey1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
    ],
)
def test_an_invalid_recipient_is_refused(text):
    assert refused(read_recipient, text() if callable(text) else text) == said(
        "FT-CFG-124", "age recipient, which begins with age1"
    )
