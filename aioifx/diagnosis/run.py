"""`aioifx.diagnosis.diagnose`: options, addresses, then one server after another. Never: what a step does.

Invariants:
1. A wrong setting is a failed step of the report, never an exception.
2. Nothing in the report is a password, or a part of one.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Final, Unpack

from aioifx.client.config.addresses import Address
from aioifx.client.config.checks import check_seconds
from aioifx.client.config.options import AllOptionFields, ConnectOptions
from aioifx.client.config.password import password_of
from aioifx.client.config.resolve import resolve
from aioifx.client.connect.connect import candidate_addresses
from aioifx.diagnosis.examination import Examination
from aioifx.diagnosis.report import DiagnosisChange, DiagnosisReport, DiagnosisStep, Failed, Finding, Steps
from aioifx.errors import InterfaceError


async def diagnose(
    dsn: str | None = None,
    *,
    step_timeout: float = 10.0,
    on_step: Callable[[DiagnosisStep], object] | None = None,
    **options: Unpack[AllOptionFields],
) -> DiagnosisReport:
    """Find out, step by step, why a connection cannot be opened, or what an open one can do. Changes nothing at the
    server.

    With several servers, each is examined, one after another. Each gets two logins, and a third one to its sysmaster
    for the locale of the database. A wrong password is sent once to each. A *pam* handler is called in each login.

    Args:
        dsn: as for `aioifx.connect`.
        options: as for `aioifx.connect`.
        step_timeout: time limit in seconds for each step.
        on_step: called with each step when it has ended.

    Returns:
        The report; a wrong setting is a failed step in it.

    Raises:
        InterfaceError: *step_timeout* is invalid.
    """
    check_seconds("step_timeout", step_timeout)
    steps = Steps("", step_timeout, on_step)
    began = time.perf_counter()
    try:
        found = resolve(dsn, options)
        addresses = candidate_addresses(found)
        password = await _password(found, step_timeout)
    except InterfaceError as error:
        steps.add("address", time.perf_counter() - began, _wrong(error).finding)
        return DiagnosisReport(tuple(steps.done))
    steps.add("address", time.perf_counter() - began, _parsed(found, addresses))
    done = [*steps.done]
    for address in addresses:
        steps = Steps(str(address), step_timeout, on_step)
        await Examination(found, password, address, steps).run()
        done += steps.done
    return DiagnosisReport(tuple(done))


def _parsed(options: ConnectOptions, addresses: tuple[Address, ...]) -> Finding:
    servers = ", ".join(f"{address} (server {address.server})" for address in addresses)
    source = "" if options.host else f", from {options.sqlhosts}"
    database = f", database {options.database}" if options.database else ""
    return Finding(
        f"{servers}{source}{database}, user {options.user}",
        details={
            "servers": [str(address) for address in addresses],
            "server_names": [address.server for address in addresses],
            "database": options.database,
            "user": options.user,
        },
    )


_MISSING: Final = {
    "server": "the server's DBSERVERNAME, or one of its DBSERVERALIASES",
    "host": "the name or address of the server's machine; or a sqlhosts file in the option sqlhosts",
    "user": "a user of the server",
}


def _wrong(error: InterfaceError) -> Failed:
    """A failed step from an error whose message begins with the option."""
    option, _, rest = str(error).partition(": ")
    if rest.startswith("missing"):
        wanted = _MISSING.get(option, rest)
    elif guess := re.search(r"did you mean (.+)\?$", rest):
        wanted = guess[1]
    else:
        wanted = rest.removeprefix("expected ").partition(", got ")[0]
    return Failed(str(error), DiagnosisChange(option, wanted))


async def _password(options: ConnectOptions, seconds: float) -> str:
    """The password, asked for once.

    Raises:
        InterfaceError: the callable failed. Its message may be a secret, so only its class is shown.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await password_of(options.password, options.client_code_set)
    except InterfaceError:
        raise
    except TimeoutError:
        if not limit.expired():
            raise InterfaceError("password: the callable raised TimeoutError") from None
        raise InterfaceError(f"password: the callable did not return within {seconds:g} s") from None
    except Exception as error:
        raise InterfaceError(f"password: the callable raised {type(error).__name__}") from None
