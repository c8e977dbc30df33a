import pytest

from lab.errors import LabError, reported


def test_an_error_ends_the_program_with_a_message_and_a_remedy(capsys):
    with pytest.raises(SystemExit) as end, reported():
        raise LabError("the disk is full", "make room")

    assert end.value.code == 1
    assert capsys.readouterr().err == "error: the disk is full\nremedy: make room\n"


def test_an_interrupt_ends_the_program_with_the_exit_code_of_shells(capsys):
    with pytest.raises(SystemExit) as end, reported("nothing is left behind"):
        raise KeyboardInterrupt

    assert end.value.code == 130
    assert capsys.readouterr().err == "interrupted; nothing is left behind\n"


def test_other_errors_are_not_hidden():
    with pytest.raises(ZeroDivisionError), reported():
        raise ZeroDivisionError
