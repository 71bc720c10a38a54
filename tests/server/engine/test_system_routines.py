from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx.server.engine import system_routines
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.model.spl import SystemRoutine
from tests.server.engine.test_streams import Text
from tests.server.talking import ServerCore, error_from, query, server_core


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with server_core() as made:
        yield made


def test_a_routine_of_one_database_gives_its_stream(
    core: ServerCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_text(state: SessionState, text: str, times: int = 1) -> int:
        return state.streams.add(Text((text * times).encode()))

    params = [("text", "LVARCHAR"), ("times", "INTEGER")]
    routine = SystemRoutine(params, ["INTEGER"], open_text, required=1)
    monkeypatch.setattr(system_routines, "ROUTINES", {("sysmaster", "open_text"): routine})
    engine = core.engine("sysmaster")
    for call, text in (("open_text(?)", b"ab"), ("informix.open_text(?, 2)", b"abab")):
        ((number,),) = query(engine, f"EXECUTE FUNCTION {call}", "ab")
        assert isinstance(number, int)
        assert engine.streams.read(number, 10) == text
    assert query(core.engine(), "EXECUTE FUNCTION sysmaster:informix.open_text('x', 1)") == [(1003,)]
    for call in ("anna.open_text('x')", "open_text()", "open_text('x', 1, 1)"):
        assert error_from(engine, f"EXECUTE FUNCTION {call}").sqlcode == -674
    assert error_from(core.engine(), "EXECUTE FUNCTION open_text('x')").sqlcode == -674
