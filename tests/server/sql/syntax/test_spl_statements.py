from __future__ import annotations

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.syntax.parser import parse, split_script
from aioifx.server.sql.syntax.spl_nodes import Block, CreateRoutine


def body(text: str) -> Block:
    tree = parse(f"CREATE PROCEDURE p() {text} END PROCEDURE")
    assert isinstance(tree, CreateRoutine)
    return tree.body


def statement(text: str) -> spl_nodes.SplStatement:
    (only,) = body(text).statements
    return only


def test_declarations_and_handlers_come_before_statements() -> None:
    block = body(
        "DEFINE a, b INT; DEFINE GLOBAL g CHAR(3) DEFAULT 'x'; DEFINE c LIKE t.k;"
        " ON EXCEPTION IN (-206, 100) SET a, b LET a = 1; END EXCEPTION WITH RESUME LET b = 2;"
    )
    assert [[name.text for name in each.names] for each in block.defines] == [["a", "b"], ["g"], ["c"]]
    assert [each.is_global for each in block.defines] == [False, True, False]
    (handler,) = block.handlers
    found = (handler.codes, [each.text for each in handler.targets], handler.resumes)
    assert found == ((-206, 100), ["a", "b"], True)
    assert len(block.statements) == 1


def test_loops_have_labels() -> None:
    loop = statement("<<outer>> FOR i IN (1 TO 5 STEP 2, 9) LOOP EXIT outer WHEN i > 3; END LOOP outer;")
    assert isinstance(loop, spl_nodes.For)
    assert (loop.label, loop.variable.text, len(loop.items)) == ("outer", "i", 2)
    (leave,) = loop.body.statements
    assert isinstance(leave, spl_nodes.Leave) and (leave.verb, leave.label) == ("exit", "outer")
    assert leave.condition is not None


def test_statements_have_labels() -> None:
    labelled, goto = body("<<top>> LET a = 1; GOTO top;").statements
    assert isinstance(labelled, spl_nodes.Labelled) and isinstance(labelled.statement, spl_nodes.Let)
    assert isinstance(goto, spl_nodes.Goto) and labelled.label == goto.label == "top"


def test_a_statement_may_follow_the_query_of_foreach() -> None:
    for first in ("LET a = 1;", "IF a = 1 THEN END IF", "UPDATE t SET a = 1;", "FOR i = 1 TO 2 END FOR"):
        loop = statement(f"FOREACH c WITH HOLD FOR SELECT k INTO a FROM t {first} END FOREACH")
        assert isinstance(loop, spl_nodes.Foreach) and isinstance(loop.source, nodes.Query)
        assert (loop.cursor, loop.hold, [each.text for each in loop.targets]) == ("c", True, ["a"])
        assert len(loop.body.statements) == 1
    called = statement("FOREACH EXECUTE PROCEDURE q(1) INTO a, b END FOREACH")
    assert isinstance(called, spl_nodes.Foreach) and isinstance(called.source, nodes.Execute)


def test_calls_have_targets() -> None:
    for text in ("CALL q(1, x = 2) RETURNING a, b;", "EXECUTE FUNCTION q(1, x = 2) INTO a, b;"):
        call = statement(text)
        assert isinstance(call, spl_nodes.CallRoutine) and [each.text for each in call.targets] == ["a", "b"]


def test_a_target_may_be_a_part_of_a_variable() -> None:
    let = statement("LET a[1,3], new.b[2], c = 'x', 'y', 'z';")
    assert isinstance(let, spl_nodes.Let)
    found = [
        (each.text, (each.first, each.last) if isinstance(each, nodes.Part) else ()) for each in let.targets
    ]
    assert found == [("a", (1, 3)), ("new.b", (2, 2)), ("c", ())]
    loop = statement("FOREACH SELECT k, l INTO a[1,2], b FROM t END FOREACH")
    assert isinstance(loop, spl_nodes.Foreach) and isinstance(loop.targets[0], nodes.Part)


def test_begin_is_a_block_and_begin_work_a_statement() -> None:
    assert isinstance(statement("BEGIN LET a = 1; END"), Block)
    for text in ("BEGIN WORK;", "BEGIN;"):
        work = statement(text)
        assert isinstance(work, spl_nodes.Sql) and isinstance(work.statement, nodes.BeginWork)


def test_system_has_an_expression() -> None:
    system = statement("SYSTEM 'mail ' || a;")
    assert isinstance(system, spl_nodes.System) and isinstance(system.command, nodes.Binary)


def test_trace_is_read() -> None:
    for text in ("TRACE ON;", "TRACE OFF;", "TRACE PROCEDURE;", "TRACE 'a' || b;"):
        assert isinstance(statement(text), spl_nodes.Trace)


@pytest.mark.parametrize("text", ["'t.txt'", "a", "a || '.txt' WITH APPEND"])
def test_the_file_of_trace_is_an_expression(text: str) -> None:
    setting = statement(f"SET DEBUG FILE TO {text};")
    assert isinstance(setting, spl_nodes.Sql)
    expected = "t.txt" if text.startswith("'") else ""
    assert setting.statement == nodes.SetOption(setting.offset, "debug file", expected)


@pytest.mark.parametrize(
    ("text", "sqlcode", "token"),
    [
        ("DEFINE b REFERENCES BYTE;", -999, "REFERENCES BYTE"),
        ("CLOSE DATABASE;", -675, ""),
        ("GOTO done", -201, ""),
        ("IF 1 = 1 THEN <<done>> END IF;", -201, ""),
        ("<<a>> <<b>> LET a = 1;", -201, ""),
        ("SELECT a FROM t;", -659, ""),
        ("CONNECT TO 'x';", -675, ""),
        ("CREATE PROCEDURE q() END PROCEDURE;", -657, ""),
        ("DATABASE d;", -675, ""),
        ("INSERT INTO t SELECT a INTO b FROM u;", -201, ""),
        ("IF 1 = 1 THEN ELSE ELSE END IF", -201, ""),
        ("EXIT FOR EXIT FOR;", -201, ""),
        ("LET a[x] = 'x';", -201, ""),
        ("LET a[1,2,3] = 'x';", -201, ""),
        ("LET a = 1; DEFINE b INT;", -201, ""),
    ],
)
def test_what_is_refused(text: str, sqlcode: int, token: str) -> None:
    with pytest.raises(SqlError) as caught:
        body(text)
    assert (caught.value.sqlcode, caught.value.token) == (sqlcode, token)


def test_a_script_keeps_the_semicolons_of_a_body() -> None:
    text = "CREATE PROCEDURE p() IF 1 = 1 THEN LET a = 1; END IF; END PROCEDURE; SELECT 1 FROM t"
    assert [part for part, _ in split_script(text)] == [text.rsplit("; ", 1)[0], "SELECT 1 FROM t"]
