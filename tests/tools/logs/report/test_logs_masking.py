"""Masking: what is secret or personal goes, what a reader needs stays, equal values stay equal."""

import pytest

from enlist.tools.logs.report.masking import Masking

SECRET = {
    "login failed for ana.lopez+x@example.co.uk": "ana.lopez",
    "Authorization: Bearer abcdef0123456789": "abcdef0123456789",
    "token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc123": "eyJ",
    "db password='hunter22' rejected": "hunter22",
    '{"api_key": "k-123456789"}': "k-123456789",
    "postgres://app:s3cret@db:5432/x": "s3cret",
    "client 203.0.113.77 closed": "203.0.113.77",
    "peer 2001:db8:0:1::17 closed": "2001:db8",
    "card 4111 1111 1111 1111 declined": "4111 1111",
    "called +49 170 1234567": "1234567",
    "arp 00:1b:44:11:3a:b7": "3a:b7",
    "AKIAIOSFODNN7EXAMPLE used": "AKIAIOSF",
}
KEPT = ["orders-db waited 5000 ms for lock 40537", "build 1.22.333.4444x", "at 2026-03-04T05:06:07.123Z",
        "order 1234567890123456", "std::vector::at failed", "worker 12:34:56 done", "template 000fdf8717b772d1"]


@pytest.mark.parametrize("text", SECRET)
def test_what_is_secret_or_personal_goes(text: str) -> None:
    masked = Masking().text(text)
    assert SECRET[text] not in masked and "<" in masked


@pytest.mark.parametrize("text", KEPT)
def test_what_is_neither_stays(text: str) -> None:
    assert Masking().text(text) == text


def test_equal_values_get_equal_marks_and_masking_again_changes_nothing() -> None:
    masking = Masking()
    once = masking.text("10.1.2.3 to 10.1.2.4, again 10.1.2.3, password=abcdef")
    assert once == "<ip-1> to <ip-2>, again <ip-1>, password=<secret-1>"
    assert masking.text(once) == once


def test_references_and_times_of_a_document_stay() -> None:
    document = {"file": "a@b.example/x.log", "line": 3, "text": "mail a@b.example", "time_utc": "2026-03-04T05:06:07Z"}
    assert Masking().document(document) == {**document, "text": "mail <email-1>"}
