"""Plain scalars of YAML, which parsers read in different ways; tests/engine/test_plain_scalars.py asks Pulumi."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.config.yaml_files import Dumper, read_mapping

AMBIGUOUS = ["y", "N", "yes", "off", "1:20", "1e3", "1234e56", "0123456789", "0o17", "0x1F", "1_000", "1.", "-.5", "="]
PLAIN = ["abc", "v1.2", "1.2.3", "1e", "12a", "-", "e3"]


def read(folder: Path, text: str, as_pulumi: bool) -> object:
    (folder / "a.yaml").write_text(f"a: {text}\n")
    found = read_mapping(folder / "a.yaml", "a.yaml", as_pulumi)
    assert isinstance(found, dict), found
    return found["a"]


@pytest.mark.parametrize(
    ("text", "value", "of_pulumi"),
    [
        ("yes", True, "yes"),
        ("1:20", 80, "1:20"),
        ("1234e56", "1234e56", 1.234e59),
        ("0123456789", "0123456789", 123456789),
        ("0644", 420, 420),
        ("0o17", "0o17", 15),
        ("1.0", 1.0, 1),
        ("1e400", "1e400", "1e400"),
        ("true", True, True),
        ("'12'", "12", "12"),
    ],
)
def test_a_plain_scalar_is_what_it_is_to_the_one_who_reads_the_file(tmp_path, text, value, of_pulumi):
    for as_pulumi, wanted in ((False, value), (True, of_pulumi)):
        found = read(tmp_path, text, as_pulumi)
        assert (found, type(found)) == (wanted, type(wanted))


@pytest.mark.parametrize("text", AMBIGUOUS + PLAIN)
def test_a_string_is_written_so_that_every_parser_reads_the_string(tmp_path, text):
    written = yaml.dump(text, Dumper=Dumper).removesuffix("\n").removesuffix("\n...")

    assert [read(tmp_path, written, as_pulumi) for as_pulumi in (False, True)] == [text, text]
    assert (written[0] in "'\"") is (text in AMBIGUOUS or text == "-")


@pytest.mark.parametrize("as_pulumi", [False, True])
def test_mappings_are_merged(tmp_path, as_pulumi):
    assert read(tmp_path, "{<<: {own: 1, merged: 2}, own: 3}", as_pulumi) == {"own": 3, "merged": 2}


def test_a_key_that_is_given_twice_beside_a_merge_is_an_error(tmp_path):
    (tmp_path / "a.yaml").write_text("{<<: {own: 1}, own: 2, own: 3}\n")

    found = read_mapping(tmp_path / "a.yaml", "a.yaml")

    assert isinstance(found, Problem) and code_of(found.message) == "FT-CFG-022"
