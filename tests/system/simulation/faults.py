"""The faults of a scenario, put where their triggers say, and taken back at its end. Never: what callers see."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tests.system.simulation.model.server import ModelServer
from tests.system.simulation.network import Accepting, Connection, Network, Transport
from tests.system.simulation.scenario import Fault

HOST_FAULTS: Final = (
    "crash", "crash silently", "refuse", "silent", "drop", "unreachable", "change role", "reject",
    "redirect in a circle", "slow down", "long transaction",
)  # fmt: skip
"""Those whose target is a server."""

FAULTS: Final = (
    *HOST_FAULTS,
    "crash",
    "reset",
    "reset",
    "stall",
    "stall",
    "stall client",
    "half-close",
    "name fails",
    "name changes",
    "alter table",
    "alter table",
    "clock jumps",
    "collect garbage",
)
"""The usual kinds; some are listed twice, so that they come more often."""

FETCH_FAILS: Final = "fetch fails"
COMMIT_FAILS: Final = "commit fails"
"""Faults of a server that dice of their own draw."""

RARE_FAULTS: Final = ("forget connection", "name is unknown", "name is slow", "name moves")

TRIGGERS: Final = ("time", "group", "reply", "commit", "login")

KEEPALIVE: Final = 120.0
"""Seconds after which TCP gives up a connection whose peer is silent: keepalive's default, 60 + 6 * 10."""


def _start(server: ModelServer) -> None:
    if not server.is_up:
        server.start()


class Faults:
    """Puts the faults of one scenario in place."""

    def __init__(self, network: Network, servers: Sequence[ModelServer], names: dict[str, list[str]]) -> None:
        self._network = network
        self._servers = servers
        self._names = names
        self._is_over = False
        self.happened: list[str] = []
        """The kinds that took effect."""

    def plan(self, fault: Fault) -> None:
        """Wait for the fault's trigger."""
        strike: Callable[[], None] = lambda: self.strike(fault)  # noqa: E731
        if fault.trigger == "time":
            self._network.loop.after(fault.at, strike)
            return
        for server in self._servers:
            table = {
                "group": server.on_group,
                "reply": server.on_reply,
                "commit": server.on_commit,
                "login": server.on_login,
                "fetch": server.on_fetch,
                "read": server.on_read,
            }[fault.trigger]
            table.setdefault(int(fault.at), []).append(strike)

    def strike(self, fault: Fault) -> None:
        """Let it happen, unless its target does not exist."""
        if self._is_over:
            return
        if fault.kind in (*HOST_FAULTS, FETCH_FAILS, COMMIT_FAILS):
            took_effect = self._strike_host(fault, self._servers[fault.target % len(self._servers)])
        else:
            took_effect = self._strike_other(fault)
        if took_effect:
            self.happened.append(fault.kind)

    def _later(self, fault: Fault, callback: Callable[[], object]) -> None:
        if fault.seconds:
            self._network.loop.after(fault.seconds, callback)

    def _strike_host(self, fault: Fault, server: ModelServer) -> bool:
        network = self._network
        match fault.kind:
            case "crash" | "crash silently":
                if not server.is_up:
                    return False
                silently = fault.kind == "crash silently"
                server.crash(silently=silently)
                if silently:
                    for connection in network.connections:
                        if connection.ip == server.ip:
                            self._time_out(connection)
                self._later(fault, partial(_start, server))
            case "refuse" | "silent" | "drop" | "unreachable":
                network.accepting[server.ip] = Accepting(fault.kind)
                network.trace(0, f"host {server.ip}: {fault.kind}")
                self._later(fault, lambda: network.accepting.pop(server.ip, None))
            case "change role":
                server.is_secondary = not server.is_secondary
                network.trace(0, f"host {server.ip} is secondary: {server.is_secondary}")
            case "reject":
                server.rejects = -951
                network.trace(0, f"host {server.ip} rejects logins")
                self._later(fault, lambda: setattr(server, "rejects", 0))
            case "redirect in a circle":
                server.redirect_to = f"ol_sim|{server.ip}|9088"
                network.trace(0, f"host {server.ip} redirects to itself")
                self._later(fault, lambda: setattr(server, "redirect_to", ""))
            case "long transaction":
                server.long_transactions += 1
                network.trace(0, f"host {server.ip} ends the transaction of the next statement in one")
            case "fetch fails":
                server.failing_fetches += 1
                network.trace(0, f"the next fetch at host {server.ip} meets a lock")
            case "commit fails":
                server.failing_commits += 1
                network.trace(0, f"the next COMMIT at host {server.ip} fails")
            case _:
                server.slow = 0.5
                network.trace(0, f"host {server.ip} is slow")
        return True

    def _strike_other(self, fault: Fault) -> bool:
        network = self._network
        match fault.kind:
            case "name fails" | "name is unknown":
                code = socket.EAI_AGAIN if fault.kind == "name fails" else socket.EAI_NONAME
                network.failing_names.update(dict.fromkeys(self._names, code))
                network.trace(0, "names cannot be looked up")
                self._later(fault, network.failing_names.clear)
                return True
            case "name changes":
                for addresses in network.names.values():
                    addresses.append("10.0.0.99")
                    addresses.reverse()
                network.trace(0, "names have one address more, where nothing listens")
                return True
            case "name is slow":
                network.lookup_time = fault.seconds
                network.trace(0, f"lookups take {fault.seconds:.3f} s")
                return True
            case "name moves":
                lists = [*network.names.values()]
                for name, others in zip(network.names, lists[1:] + lists[:1], strict=True):
                    network.names[name] = others
                network.trace(0, "each name has the addresses of the next one")
                return True
            case "clock jumps":
                network.trace(0, f"the clock jumps by {fault.seconds:.3f} s")
                network.loop.jump(fault.seconds)
                return True
            case "alter table":
                self._servers[0].database.version += 1
                network.trace(0, "another program alters the table")
                return True
            case "collect garbage":
                gc.collect()
                return True
            case _:
                pass
        target = fault.target or self._capturing()
        if not 1 <= target <= len(network.connections):
            return False
        connection = network.connections[target - 1]
        if connection.client.is_closed:
            return False
        match fault.kind:
            case "reset":
                connection.reset()
            case "forget connection":
                connection.forget()
                self._time_out(connection)
            case "half-close":
                connection.half_close(connection.server)
                self._time_out(connection)
            case _:
                self._stall(
                    connection,
                    connection.client if fault.kind == "stall client" else connection.server,
                    fault,
                )
        return True

    def _capturing(self) -> int:
        """The number of a connection that captures changes; 0: none does."""
        sessions = [each for server in self._servers for each in server.sessions.values()]
        return next((each.transport.connection.number for each in sessions if each.capture is not None), 0)

    def _stall(self, connection: Connection, end: Transport, fault: Fault) -> None:
        connection.stall(end, fault.seconds or None)
        if not fault.seconds:
            self._time_out(connection)

    def _time_out(self, connection: Connection) -> None:
        """TCP's keepalive ends a connection whose other end is silent for ever."""
        self._network.loop.after(KEEPALIVE, connection.time_out)

    def end(self) -> None:
        """Everything works again: servers are up, hosts accept, names are found."""
        self._is_over = True
        network = self._network
        network.trace(0, "all faults end")
        network.accepting.clear()
        network.failing_names.clear()
        network.lookup_time = 0.0
        network.names.update({name: list(addresses) for name, addresses in self._names.items()})
        for server in self._servers:
            server.rejects = 0
            server.redirect_to = ""
            server.is_secondary = False
            server.slow = 0.0
            server.long_transactions = 0
            server.failing_fetches = 0
            server.failing_commits = 0
            if not server.is_up:
                server.start()
