"""For each anomaly, two sessions whose statements alternate so that it occurs unless it is prevented.

Neither session waits for locks, so a statement that meets one fails, and prevents the anomaly. The schedules have
the purpose of those of Hermitage (M. Kleppmann). Never: a client, or what a level should do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

TABLE: Final = (
    "create table account (number integer primary key, branch integer, balance integer)",
    "create index account_branch on account (branch)",
)
ROWS: Final = "insert into account values (1, 1, 10)", "insert into account values (2, 1, 20)"


class Session(Protocol):
    """A session in a transaction, of any client."""

    async def execute(self, sql: str) -> object:
        """Run a statement without rows."""
        ...

    async def numbers(self, sql: str) -> list[int]:
        """The first column of all rows."""
        ...

    async def fetch_for_update(self, sql: str) -> int:
        """The first column of the only row of a query FOR UPDATE, whose cursor stays open."""
        ...

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...


Schedule = Callable[[Session, Session], Awaitable[bool]]
"""Whether the anomaly occurred; both sessions have ended their transactions."""


def _update(number: int, balance: int) -> str:
    return f"update account set balance = {balance} where number = {number}"


def _select(condition: str) -> str:
    return f"select balance from account where {condition} order by 1"


async def dirty_write(one: Session, two: Session) -> bool:
    """The first overwrites one row last, the second the other row."""
    await one.execute(_update(1, 11))
    await two.execute(_update(1, 12))
    await two.execute(_update(2, 22))
    await two.commit()
    await one.execute(_update(2, 21))
    await one.commit()
    return await one.numbers(_select("1 = 1")) in ([12, 21], [11, 22])


async def dirty_read(one: Session, two: Session) -> bool:
    """The second reads a value that is rolled back."""
    await one.execute(_update(1, 11))
    seen = await two.numbers(_select("number = 1"))
    await one.rollback()
    await two.commit()
    return seen == [11]


async def missed_row(one: Session, two: Session) -> bool:
    """The second misses a row whose deletion is rolled back."""
    await one.execute("delete from account where number = 1")
    seen = await two.numbers(_select("branch = 1"))
    await one.rollback()
    await two.commit()
    return seen == [20]


async def non_repeatable_read(one: Session, two: Session) -> bool:
    """The first reads a row twice, and finds the second's value in between."""
    first = await one.numbers(_select("number = 1"))
    await two.execute(_update(1, 11))
    await two.commit()
    again = await one.numbers(_select("number = 1"))
    await one.commit()
    return first != again


async def phantom(one: Session, two: Session) -> bool:
    """The first searches by an index twice, and finds a row that the second has inserted."""
    first = await one.numbers(_select("branch = 1"))
    await two.execute("insert into account values (3, 1, 30)")
    await two.commit()
    again = await one.numbers(_select("branch = 1"))
    await one.commit()
    return first != again


async def phantom_of_a_scan(one: Session, two: Session) -> bool:
    """As `phantom`, without an index for the condition."""
    first = await one.numbers(_select("balance > 15"))
    await two.execute("insert into account values (3, 2, 30)")
    await two.commit()
    again = await one.numbers(_select("balance > 15"))
    await one.commit()
    return first != again


async def lost_update(one: Session, two: Session) -> bool:
    """Both read a row, and store its value plus 1 one after the other."""
    (first,), (second,) = await one.numbers(_select("number = 1")), await two.numbers(_select("number = 1"))
    await one.execute(_update(1, first + 1))
    await one.commit()
    await two.execute(_update(1, second + 1))
    await two.commit()
    return await one.numbers(_select("number = 1")) == [11]


async def lost_update_for_update(one: Session, two: Session) -> bool:
    """As `lost_update`, and both read with an open cursor FOR UPDATE."""
    query = "select balance from account where number = 1 for update"
    first, second = await one.fetch_for_update(query), await two.fetch_for_update(query)
    await one.execute(_update(1, first + 1))
    await one.commit()
    await two.execute(_update(1, second + 1))
    await two.commit()
    return await one.numbers(_select("number = 1")) == [11]


async def read_skew(one: Session, two: Session) -> bool:
    """The first reads one row before the second changes both, and the other row after that."""
    (first,) = await one.numbers(_select("number = 1"))
    await two.execute(_update(1, 5))
    await two.execute(_update(2, 25))
    await two.commit()
    (second,) = await one.numbers(_select("number = 2"))
    await one.commit()
    return first + second != 30


async def write_skew(one: Session, two: Session) -> bool:
    """Each reads both rows, and changes one of them because their sum allows it."""
    query = "select sum(balance)::integer from account"
    (first,), (second,) = await one.numbers(query), await two.numbers(query)
    await one.execute(_update(1, 10 - first))
    await two.execute(_update(2, 20 - second))
    await one.commit()
    await two.commit()
    (left,) = await one.numbers(query)
    return left < 0


SCHEDULES: Final[dict[str, Schedule]] = {
    "dirty write": dirty_write,
    "dirty read of a row": dirty_read,
    "dirty read of a deletion": missed_row,
    "non-repeatable read": non_repeatable_read,
    "phantom, by index": phantom,
    "phantom, by scan": phantom_of_a_scan,
    "lost update": lost_update,
    "lost update with FOR UPDATE": lost_update_for_update,
    "read skew": read_skew,
    "write skew": write_skew,
}
