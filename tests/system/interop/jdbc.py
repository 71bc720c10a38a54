"""The Python end of JdbcShell.java."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from aioifx import parse_dsn

ARTIFACTS: Final = ("com.ibm.informix:jdbc:15.0.1.0", "org.mongodb:bson:3.8.0")
"""The driver, and the library of its objects for BSON."""

Fields = list[str | None]
Ask = Callable[..., Any]
"""A request to the JVM, awaited."""


class JdbcMissing(Exception):
    """Driver or Java cannot be had here; says why."""


LOCAL_REPOSITORY: Final = Path.home() / ".m2" / "repository"
"""Where Maven keeps what it has fetched, unless its settings say otherwise."""


def fetched(folder: Path, *sources: Path) -> Path:
    """IBM's driver, fetched by Maven into *folder*, with classes compiled from *sources* beside it.

    Raises:
        JdbcMissing: a tool is not installed, or Maven cannot reach its repository.
    """
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            raise JdbcMissing(f"no {tool} on PATH")
    for artifact in ARTIFACTS:
        _copy(artifact, folder)
    command = ["javac", "-cp", f"{folder}/*", "-d", str(folder), *map(str, sources)]
    compiled = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert compiled.returncode == 0, compiled.stderr
    return next(folder.glob("jdbc-*.jar"))


def _copy(artifact: str, folder: Path) -> None:
    """From the local repository; where it is not there, by Maven, which takes four seconds to start."""
    group, name, version = artifact.split(":")
    jar = f"{name}-{version}.jar"
    kept = LOCAL_REPOSITORY.joinpath(*group.split("."), name, version, jar)
    if kept.exists():
        shutil.copy(kept, folder)
        return
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    command = ["mvn", "-B", "-q", plugin, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    copied = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    if not (folder / jar).exists():
        said = (copied.stdout + copied.stderr).strip()
        raise JdbcMissing(f"Maven could not fetch {artifact}: {said[-200:]}")


class JdbcError(Exception):
    """The driver threw a SQLException."""

    def __init__(self, fields: Fields) -> None:
        super().__init__(fields[-1])
        self.kind = fields[0]
        self.code = int(fields[1] or 0)
        self.state = fields[2]
        self.counts = [int(count or 0) for count in fields[3:]] if fields[0] == "!batch" else []


class Jdbc:
    """A JVM with the driver; one request at a time."""

    def __init__(self, jar: Path) -> None:
        self._process = subprocess.Popen(
            ["java", "-Xshare:auto", "-cp", f"{jar.parent}/*:{jar.parent}", "JdbcShell"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def __call__(self, *fields: object) -> list[Fields]:
        """Send one request; the lines of the answer.

        Raises:
            JdbcError: the driver threw.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write("\t".join(_escape(field) for field in fields) + "\n")
        stdin.flush()
        answer: list[Fields] = []
        while (line := stdout.readline().rstrip("\n")) != ".":
            assert line or self._process.poll() is None, "the JVM is gone"
            answer.append([_unescape(field) for field in line.split("\t")])
        for fields_ in answer:
            if (fields_[0] or "").startswith("!"):
                raise JdbcError(fields_)
        return answer

    def rows(self, *fields: object) -> list[Fields]:
        """The rows of an answer, without the line that names the columns."""
        return [fields_[1:] for fields_ in self(*fields) if fields_[0] == "="]

    def close(self) -> None:
        """End the JVM."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.close()
        self._process.wait(20)
        stdout.close()


def _escape(field: object) -> str:
    if field is None:
        return r"\N"
    return str(field).replace("\\", "\\\\").replace("\t", r"\t").replace("\n", r"\n")


def _unescape(field: str) -> str | None:
    if field == r"\N":
        return None
    return field.replace("\\\\", "\0").replace(r"\t", "\t").replace(r"\n", "\n").replace("\0", "\\")


def url_of(dsn: str, **properties: str) -> str:
    options = parse_dsn(dsn)
    extra = "".join(f";{name}={value}" for name, value in properties.items())
    return (
        f"jdbc:informix-sqli://{options.host}:{options.port}/{options.database}:INFORMIXSERVER={options.server}"
        f";user={options.user};password=secret{extra}"
    )


def cells(answer: list[Fields]) -> list[Fields]:
    return [fields[1:] for fields in answer if fields[0] == "="]


async def failing(ask: Ask, *fields: object) -> JdbcError:
    with pytest.raises(JdbcError) as raised:
        await ask(*fields)
    return raised.value
