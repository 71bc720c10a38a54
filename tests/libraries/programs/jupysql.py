"""JupySQL: the %sql, %%sql and %sqlcmd magics in an IPython shell."""

from __future__ import annotations

import pandas as pd
import pytest
from IPython.core.error import UsageError
from IPython.testing.globalipapp import start_ipython
from suite_plugin import URL


@pytest.fixture(scope="module")
def shell():
    shell = start_ipython()
    shell.run_line_magic("load_ext", "sql")
    shell.run_line_magic("config", "SqlMagic.feedback = 0")
    shell.run_line_magic("config", "SqlMagic.named_parameters = 'enabled'")
    shell.run_line_magic("sql", f"{URL} --alias shop")
    shell.run_cell_magic("sql", "", "CREATE TABLE item (id SERIAL, name VARCHAR(40), price DECIMAL(8,2))")
    for name, price in (("pen", 2), ("lamp €", 35.25)):
        shell.run_cell_magic("sql", "", f"INSERT INTO item (name, price) VALUES ('{name}', {price})")
    yield shell
    shell.run_line_magic("sql", "--close shop")


def test_rows_become_frames_and_variables(shell):
    rows = shell.run_line_magic("sql", "SELECT id, name FROM item ORDER BY id")
    assert rows.DataFrame().to_dict("records") == [{"id": 1, "name": "pen"}, {"id": 2, "name": "lamp €"}]
    shell.run_cell_magic("sql", "dear <<", "SELECT name FROM item WHERE price > 20")
    assert [row.name for row in shell.user_ns["dear"]] == ["lamp €"]


def test_values_are_named_or_written_into_the_text(shell):
    shell.user_ns["wanted"] = "lamp €"
    query = "SELECT id FROM item WHERE name = "
    assert shell.run_line_magic("sql", f"{query} :wanted")[0].id == 2
    assert shell.run_line_magic("sql", f"{query} '{{{{wanted}}}}'")[0].id == 2


def test_a_query_is_saved_and_used_in_another(shell):
    shell.run_cell_magic("sql", "--save cheap", "SELECT * FROM item WHERE price < 20")
    assert shell.run_cell_magic("sql", "--with cheap", "SELECT COUNT(*) AS number FROM cheap")[0].number == 1


def test_a_frame_is_stored(shell):
    shell.user_ns["sale"] = pd.DataFrame({"id": [1, 2], "pieces": [3, 4]})
    shell.run_line_magic("sql", "--persist-replace sale --no-index")
    assert shell.run_line_magic("sql", "SELECT SUM(pieces) AS pieces FROM sale")[0].pieces == 7


def test_tables_and_columns_are_listed(shell):
    assert "item" in f"{shell.run_line_magic('sqlcmd', 'tables')}"
    columns = f"{shell.run_line_magic('sqlcmd', 'columns --table item')}"
    assert "SERIAL" in columns and "VARCHAR(40)" in columns


def test_an_error_is_that_of_the_server(shell):
    with pytest.raises(UsageError, match="SQLCODE -206"):
        shell.run_line_magic("sql", "SELECT * FROM nothing")
    assert shell.run_line_magic("sql", "SELECT COUNT(*) AS number FROM item")[0].number == 2
