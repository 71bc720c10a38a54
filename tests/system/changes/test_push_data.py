"""Events of the embedded server over lost connections: each once, in the order of the commits."""

from __future__ import annotations

import aioifx
import aioifx.server


async def test_each_change_is_one_event_whenever_the_connection_is_lost() -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE orders (id INT PRIMARY KEY, qty INT)")
        watches = [
            aioifx.Watch(
                f"{conn.database}:informix.orders", f"SELECT id FROM orders WHERE MOD(id, 2) = {rest}", label
            )
            for rest, label in enumerate(("even", "odd"))
        ]
        async with aioifx.events(dsn, watches, detach=True, max_records=3) as events:
            found: list[tuple[int, str]] = []
            for begin in range(0, 20, 4):
                async with conn.transaction():
                    for number in range(begin, begin + 4):
                        await conn.execute("INSERT INTO orders VALUES (?, 1)", number)
                for number in range(begin, begin + 4):
                    event = await anext(events)
                    found.append((event["rowdata"]["id"], event["label"]))
                    if number % 3 == 0:  # some events of the transaction are read, some are not
                        assert events._session is not None
                        events._session.terminate()
            await events.delete()
    assert found == [(number, "odd" if number % 2 else "even") for number in range(20)]
