"""Other clients as black boxes: IBM's JDBC driver in a JVM of its own, informix-driver in a thread."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.jdbc import ARTIFACT, Jdbc

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def jdbc_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """IBM's driver, fetched by Maven; the tests that need it are skipped where it cannot be had."""
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} on PATH")
    folder = tmp_path_factory.mktemp("jdbc")
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    fetched = subprocess.run(
        ["mvn", "-B", "-q", plugin, f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    jars = list(folder.glob("*.jar"))
    if not jars:
        pytest.skip(f"Maven could not fetch {ARTIFACT}: {(fetched.stdout + fetched.stderr).strip()[-200:]}")
    compiled = subprocess.run(
        ["javac", "-d", str(folder), str(HERE / "JdbcShell.java")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stderr
    return jars[0]


@pytest.fixture(scope="session")
def jdbc(jdbc_jar: Path) -> Iterator[Jdbc]:
    """A JVM with the driver, for all tests of the session."""
    shell = Jdbc(jdbc_jar)
    yield shell
    shell.close()
