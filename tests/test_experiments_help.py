"""What the command line of the studies says of itself."""

import pytest

from sinpe.experiments import __main__ as command
from sinpe.experiments.studies import STUDIES, get_study


@pytest.mark.parametrize("name", [(), ("run",), ("list",), ("show",), ("verify",)])
def test_help_is_there_for_every_command(name, capsys):
    with pytest.raises(SystemExit) as done:
        command.main([*name, "--help"])
    said = capsys.readouterr().out
    assert done.value.code == 0
    words = ("run", "list", "show", "verify", "95 %") if not name else STUDIES
    assert all(word in said for word in words)


def test_a_study_says_in_one_line_what_it_asks(capsys):
    assert command.main(["list", "length"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "length: " + " ".join(get_study("length").about.split())
