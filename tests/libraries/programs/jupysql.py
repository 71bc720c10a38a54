"""JupySQL: the %sql and %%sql magics in an IPython shell."""

from __future__ import annotations

import pytest
from IPython.testing.globalipapp import start_ipython


@pytest.fixture
def shell(url):
    shell = start_ipython()
    shell.run_line_magic("load_ext", "sql")
    shell.run_line_magic("config", "SqlMagic.feedback = 0")
    shell.run_line_magic("sql", f"{url} --alias shop")
    yield shell
    shell.run_line_magic("sql", "--close shop")


def test_magics(shell):
    shell.run_cell_magic("sql", "", "CREATE TABLE item (id SERIAL, name VARCHAR(40))")
    shell.run_cell_magic("sql", "", "INSERT INTO item (name) VALUES ('pen')")
    shell.user_ns["wanted"] = "pen"
    rows = shell.run_line_magic("sql", "SELECT * FROM item WHERE name = '{{wanted}}'")
    assert rows.DataFrame().to_dict("records") == [{"id": 1, "name": "pen"}]
    assert "item" in f"{shell.run_line_magic('sqlcmd', 'tables')}"
    assert "name" in f"{shell.run_line_magic('sqlcmd', 'columns --table item')}"
