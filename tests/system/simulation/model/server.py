"""The model as a program: it listens, crashes, restarts, has a role, and may redirect. Never: a statement."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

from aioifx.wire.handshake import LoginReply, LoginRequest
from aioifx.wire.opcodes import LoginType
from tests.system.simulation.loop import SimulatedLoop
from tests.system.simulation.model.database import Database
from tests.system.simulation.model.differences import Difference
from tests.system.simulation.model.session import ModelSession
from tests.system.simulation.network import Network

PORT = 9088


class ModelServer:
    """One server of a scenario.

    Args:
        seed: of its dice.
        ip: the address that it listens at.
        is_secondary: it refuses changes.
        speed: seconds that most statements take.
        differs: how it differs from what the client expects.
    """

    def __init__(
        self,
        network: Network,
        database: Database,
        seed: str,
        ip: str,
        *,
        is_secondary: bool = False,
        speed: float = 0.0005,
        slow: float = 0.02,
        differs: Sequence[str] = (),
    ) -> None:
        self.network = network
        self.loop: SimulatedLoop = network.loop
        self.database = database
        self.seed = seed
        self.ip = ip
        self.is_secondary = is_secondary
        self.speed = speed
        self.slow = slow
        """Probability that a statement takes 200 times as long."""
        self.differs = frozenset(map(Difference, differs))
        self.version = f"IBM Informix Dynamic Server Version 14.10.FC{9 + crc32(''.join(differs).encode())}"
        """Servers that differ in other ways have other versions."""
        self.login_time = 0.004
        self.redirect_to = ""
        """``server|host|port``, sent to each login; empty: none."""
        self.rejects: int = 0
        """SQLCODE sent to each login; 0: none."""
        self.long_transactions = 0
        """How many of the next statements inside transactions fail with -458, which rolls the transaction back."""
        self.failing_fetches = 0
        """How many of the next fetches meet a row that is locked."""
        self.failing_commits = 0
        """How many of the next COMMITs fail; the transaction stays open, or is rolled back."""
        self.is_up = False
        self.sessions: dict[int, ModelSession] = {}
        self.complaints: list[str] = []
        """Errors in what clients have sent."""
        self.groups = 0
        """Groups of requests, after logins, that were read."""
        self.on_group: dict[int, list[Callable[[], None]]] = {}
        """What happens before the n-th group is handled."""
        self.on_reply: dict[int, list[Callable[[], None]]] = {}
        """What happens before the reply to the n-th group is sent."""
        self.on_commit: dict[int, list[Callable[[], None]]] = {}
        """What happens before the n-th COMMIT takes effect."""
        self.on_login: dict[int, list[Callable[[], None]]] = {}
        """What happens before the n-th login is answered."""
        self.on_fetch: dict[int, list[Callable[[], None]]] = {}
        """What happens before the n-th block, or row of a scroll cursor, is fetched."""
        self.on_read: dict[int, list[Callable[[], None]]] = {}
        """What happens before the n-th read of changes is answered."""
        self.commits = 0
        self._reads = 0
        self._fetches = 0
        self._logins = 0
        self._answered_logins = 0

    def after(self, seconds: float, callback: Callable[[], object]) -> None:
        """Call back later, in virtual time."""
        self.loop.after(seconds, callback)

    def time_of(self, dice: random.Random) -> float:
        """Seconds that a statement takes; most take none, beside the network."""
        chance = dice.random()
        if chance < self.slow:
            return self.speed * 200 * dice.random()
        return self.speed * dice.random() if chance > 0.7 else 0.0

    # -- up and down ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen."""
        self.is_up = True
        self.network.listeners[self.ip, PORT] = self._accept
        self.network.trace(0, f"server {self.ip} is up")

    def crash(self, *, silently: bool = False) -> None:
        """All sessions are gone; clients see resets, or nothing if the machine is gone as well."""
        self.is_up = False
        self.network.trace(0, f"server {self.ip} crashes")
        self.network.listeners.pop((self.ip, PORT), None)
        sessions, self.sessions = self.sessions, {}
        for session in sessions.values():
            session.vanish()
        for connection in self.network.connections:
            if connection.ip == self.ip and not connection.client.is_closed:
                if silently:
                    connection.stall(connection.server, None)
                    connection.stall(connection.client, None)
                else:
                    connection.reset("reset by the crash")

    def _accept(self) -> ModelSession:
        self._logins += 1
        session = ModelSession(self, self._logins)
        self.sessions[session.number] = session
        return session

    def forget(self, session: ModelSession) -> None:
        """The session has ended."""
        if self.sessions.get(session.number) is session:
            del self.sessions[session.number]

    # -- what sessions ask ---------------------------------------------------------------------------------------------

    def answer_to_login(self, login: LoginRequest) -> LoginReply:
        """Accept, reject or redirect."""
        self._answered_logins += 1
        for callback in self.on_login.pop(self._answered_logins, ()):
            callback()
        if self.redirect_to:
            return LoginReply(LoginType.REDIRECT, server=b"ol_sim", redirect=self.redirect_to.encode())
        if self.rejects:
            return LoginReply(LoginType.REJECT, server=b"ol_sim", sqlcode=self.rejects)
        return LoginReply(
            LoginType.ACCEPT, self.version.encode(), b"Software Serial Number AAA#B000000", b"ol_sim"
        )

    def before_group(self, session: ModelSession, group: Sequence[Any]) -> None:
        """A group has been read."""
        self.groups += 1
        for callback in self.on_group.pop(self.groups, ()):
            callback()

    def before_reply(self, session: ModelSession, group: Sequence[Any]) -> None:
        """A group has been handled, and its reply is not sent yet."""
        for callback in self.on_reply.pop(self.groups, ()):
            callback()

    def ends_transaction(self) -> bool:
        """Whether the transaction of a statement has become too long."""
        if not self.long_transactions:
            return False
        self.long_transactions -= 1
        return True

    def fails_fetch(self) -> bool:
        """A block is about to be fetched: whether it meets a row that is locked."""
        self._fetches += 1
        for callback in self.on_fetch.pop(self._fetches, ()):
            callback()
        if not self.failing_fetches:
            return False
        self.failing_fetches -= 1
        return True

    def before_read(self) -> None:
        """Changes are about to be sent."""
        self._reads += 1
        for callback in self.on_read.pop(self._reads, ()):
            callback()

    def before_commit(self, session: ModelSession) -> None:
        """A transaction is about to be committed."""
        self.commits += 1
        for callback in self.on_commit.pop(self.commits, ()):
            callback()

    def fails_commit(self) -> bool:
        """Whether the COMMIT that is about to take effect fails."""
        if not self.failing_commits:
            return False
        self.failing_commits -= 1
        return True
