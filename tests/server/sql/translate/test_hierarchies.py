from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.sqltypes import Row
from tests.server.sql.workbench import Workbench

EMPLOYEES = (
    (17, "Urbassek", None), (15, "Mills", 17), (16, "Goyal", 17), (10, "Monroe", 15), (11, "Zander", 16),
    (12, "Henry", 16), (14, "Scott", 16), (5, "McKeough", 11), (6, "Barnes", 11), (7, "O'Neil", 12),
    (8, "Smith", 12), (9, "Shoeman", 12),
)  # fmt: skip
"""Number, name, number of the manager. Source: the example of the manual, Hierarchical Clause."""


def bench_of(rows: tuple[tuple[int, str, int | None], ...] = EMPLOYEES) -> Workbench:
    bench = Workbench(
        "CREATE TABLE e (id INT, name VARCHAR(20), boss INT)",
        "CREATE VIEW v AS SELECT id, name, boss FROM e",
        "CREATE VIEW pairs (id, boss) AS SELECT a.id, b.boss FROM e a, e b",
    )
    for row in rows:
        bench.run("INSERT INTO e VALUES (?, ?, ?)", *row)
    return bench


BENCH = bench_of()
LOOP = bench_of(((17, "Urbassek", 5), *EMPLOYEES[1:]))
"""Goyal - Zander - McKeough - Urbassek - Goyal."""


def test_siblings_are_ordered_under_their_parent() -> None:
    # Documented: ORDER SIBLINGS BY Clause, the example.
    query = "SELECT id, name, boss, LEVEL FROM e START WITH name = 'Goyal' CONNECT BY PRIOR id = boss"
    assert BENCH.rows(f"{query} ORDER SIBLINGS BY name") == [
        (16, "Goyal", 17, 1), (12, "Henry", 16, 2), (7, "O'Neil", 12, 3), (9, "Shoeman", 12, 3),
        (8, "Smith", 12, 3), (14, "Scott", 16, 2), (11, "Zander", 16, 2), (6, "Barnes", 11, 3),
        (5, "McKeough", 11, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("id FROM e START WITH id = 12 CONNECT BY PRIOR id = boss ORDER SIBLINGS BY id DESC", [12, 9, 8, 7]),
        ("name n FROM e START WITH id = 12 CONNECT BY boss = PRIOR id ORDER SIBLINGS BY 1",
         ["Henry", "O'Neil", "Shoeman", "Smith"]),
        ("id + 0 n FROM e START WITH id = 12 CONNECT BY boss = PRIOR id ORDER SIBLINGS BY n DESC", [12, 9, 8, 7]),
        ("id FROM e START WITH id = 5 CONNECT BY PRIOR boss = id", [5, 11, 16, 17]),
        ("id FROM e WHERE LEVEL > 2 START WITH boss IS NULL CONNECT BY PRIOR id = boss AND LEVEL < 4 ORDER BY 1",
         [10, 11, 12, 14]),
        ("COUNT(*)::INT FROM e START WITH id = 16 CONNECT BY PRIOR id = boss GROUP BY LEVEL ORDER BY 1", [1, 3, 5]),
        ("CONNECT_BY_ROOT name FROM e WHERE id = 9 START WITH boss = 17 CONNECT BY PRIOR id = boss", ["Goyal"]),
        ("CONNECT_BY_ROOT (id + 1) FROM e WHERE id = 9 START WITH boss = 17 CONNECT BY PRIOR id = boss", [17]),
        ("SYS_CONNECT_BY_PATH(name, '/') FROM e WHERE id = 9 START WITH boss = 17 CONNECT BY PRIOR id = boss",
         ["/Goyal/Henry/Shoeman"]),
        ("id FROM e START WITH id = 12 CONNECT BY PRIOR id = boss ORDER BY SYS_CONNECT_BY_PATH(id, '>') DESC",
         [9, 8, 7, 12]),
        ("id FROM e WHERE CONNECT_BY_ISLEAF = 1 START WITH id = 16 CONNECT BY PRIOR id = boss ORDER BY 1",
         [5, 6, 7, 8, 9, 14]),
        ("id FROM e x START WITH x.id = 11 CONNECT BY PRIOR (x.id * 2) = x.boss * 2 ORDER SIBLINGS BY id", [11, 5, 6]),
        ("id FROM (SELECT id, boss FROM e) d START WITH id = 11 CONNECT BY PRIOR id = boss ORDER SIBLINGS BY id",
         [11, 5, 6]),
        ("id FROM v START WITH id = 11 CONNECT BY PRIOR id = boss ORDER SIBLINGS BY id", [11, 5, 6]),
        ("FIRST 2 id FROM e START WITH boss IS NULL CONNECT BY PRIOR id = boss ORDER SIBLINGS BY name DESC", [17, 15]),
        ("DISTINCT LEVEL FROM e CONNECT BY PRIOR id = boss ORDER BY 1", [1, 2, 3, 4]),
        ("LEVEL FROM sysmaster:sysdual CONNECT BY LEVEL <= 4", [1, 2, 3, 4]),
        ("id FROM e WHERE id IN (SELECT s.id FROM e s START WITH s.id = e.boss CONNECT BY s.id = PRIOR s.boss)", []),
        ("rowid - id FROM e WHERE LEVEL = 1 START WITH id = 17 CONNECT BY PRIOR id = boss", [-16]),
    ],
)  # fmt: skip
def test_hierarchical_queries(query: str, rows: list[object]) -> None:
    assert [row[0] for row in BENCH.rows(f"SELECT {query}")] == rows


def test_a_query_with_parameters_may_be_hierarchical() -> None:
    query = (
        "SELECT id + ? FROM e START WITH id = ? CONNECT BY PRIOR id = boss AND id < ? ORDER SIBLINGS BY id"
    )
    assert BENCH.rows(query, 100, 12, 9) == [(112,), (107,), (108,)]


def test_a_subquery_may_be_hierarchical() -> None:
    inner = "SELECT COUNT(*)::INT FROM e s START WITH s.id = e.id CONNECT BY PRIOR s.id = s.boss"
    found = BENCH.rows(f"SELECT name, ({inner}) FROM e WHERE boss = 16 ORDER BY 1")
    assert found == [("Henry", 4), ("Scott", 1), ("Zander", 3)]


def test_types_of_a_hierarchical_query() -> None:
    values = "LEVEL, CONNECT_BY_ISLEAF, CONNECT_BY_ROOT name, SYS_CONNECT_BY_PATH(name, '/')"
    described = BENCH.described(f"SELECT {values} FROM e CONNECT BY PRIOR id = boss")
    assert [type_ for _, type_ in described] == ["INTEGER", "INTEGER", "VARCHAR(20)", "LVARCHAR(32739)"]
    found = [name for name, _ in BENCH.described("SELECT * FROM e CONNECT BY PRIOR id = boss")]
    assert found == ["id", "name", "boss"]


def test_a_loop_is_an_error() -> None:
    # Documented: CONNECT BY Clause, the example.
    query = "SELECT id FROM e START WITH name = 'Goyal' CONNECT BY {} PRIOR id = boss"
    assert LOOP.error(query.format(""))[0] == -26079
    assert len(LOOP.rows(query.format("NOCYCLE"))) == len(EMPLOYEES)


def test_a_loop_is_shown_where_it_closes() -> None:
    flags = "name, CONNECT_BY_ISCYCLE, CONNECT_BY_ISLEAF"
    query = f"SELECT {flags} FROM e WHERE CONNECT_BY_ISCYCLE = 1 START WITH id = 16 CONNECT BY NOCYCLE PRIOR id = boss"
    assert LOOP.rows(query) == [("Urbassek", 1, 0)]
    assert LOOP.error(query.replace("NOCYCLE", ""))[:2] == (-217, "connect_by_iscycle")


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("a.id FROM e a, e b CONNECT BY PRIOR a.id = b.boss", (-201, "")),
        ("a.id FROM e a JOIN e b ON a.id = b.id CONNECT BY PRIOR a.id = b.boss", (-201, "")),
        ("id FROM pairs CONNECT BY PRIOR id = boss", (-201, "")),
        ("LEVEL FROM e", (-217, "level")),
        ("CONNECT_BY_ROOT id FROM e", (-201, "")),
        ("SYS_CONNECT_BY_PATH(name, '/') FROM e", (-201, "")),
        ("SYS_CONNECT_BY_PATH(name) FROM e CONNECT BY PRIOR id = boss", (-664, "sys_connect_by_path")),
        ("SYS_CONNECT_BY_PATH(name, name) FROM e CONNECT BY PRIOR id = boss", (-201, "")),
        ("id FROM e START WITH LEVEL = 1 CONNECT BY PRIOR id = boss", (-217, "level")),
        ("id FROM e CONNECT BY PRIOR nothing = boss", (-217, "nothing")),
        ("id FROM e CONNECT BY PRIOR id = boss ORDER SIBLINGS BY 2", (-251, "")),
        ("id FROM e CONNECT BY PRIOR id = boss FOR UPDATE", (-365, "")),
        ("id FROM e CONNECT BY PRIOR id", (-201, "")),
        ("name FROM e CONNECT BY PRIOR id = boss GROUP BY CONNECT_BY_ROOT name", (-294, "name")),
    ],
)
def test_what_a_hierarchical_query_cannot_have_is_refused(query: str, error: tuple[int, str]) -> None:
    assert BENCH.error(f"SELECT {query}")[:2] == error


RANDOM = Workbench("CREATE TABLE e (id INT, boss INT)")
EDGES = st.dictionaries(st.integers(1, 6), st.integers(0, 6), max_size=6)


@given(EDGES)
def test_each_path_from_a_root_is_a_row(bosses: dict[int, int]) -> None:
    def below(path: list[int]) -> list[Row]:
        children = [child for child in sorted(bosses) if bosses[child] == path[-1]]
        text = "".join(f".{each}" for each in path)
        row = (len(path), text, int(not set(children) - set(path)), int(bool(set(children) & set(path))))
        return [row, *(each for child in children if child not in path for each in below([*path, child]))]

    RANDOM.run("DELETE FROM e")
    for child, boss in bosses.items():
        RANDOM.run("INSERT INTO e VALUES (?, ?)", child, boss)
    query = (
        "SELECT LEVEL, SYS_CONNECT_BY_PATH(id, '.'), CONNECT_BY_ISLEAF, CONNECT_BY_ISCYCLE"
        " FROM e CONNECT BY NOCYCLE PRIOR id = boss ORDER SIBLINGS BY id"
    )
    rows = [row for root in sorted(bosses) for row in below([root])]
    assert RANDOM.rows(query) == rows
    if any(row[3] for row in rows):
        assert RANDOM.error("SELECT id FROM e CONNECT BY PRIOR id = boss")[0] == -26079
