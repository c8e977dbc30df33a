"""Values that are there by construction."""

import pytest

from flux_tenancy.components.config.errors import BrokenInvariantError, present


@pytest.mark.parametrize("value", [0, "", [], False])
def test_a_value_that_is_there_is_returned_even_if_it_is_empty(value):
    assert present(value, "it is given") is value


def test_one_that_is_not_is_an_error_of_the_program_that_says_why_it_should_be():
    with pytest.raises(BrokenInvariantError, match="although it is given"):
        present(None, "it is given")
