"""What a run and a whole lab leave behind, as JSON. README.md beside this file says what each field means."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

from examples.bulk_read_lab.policy import Missing

RUN = "bulk-read-run/1"
SUMMARY = "bulk-read-summary/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One strategy, once, in a fresh process."""

    schema: str = RUN
    strategy: str
    table_rows: int
    policy: str
    limits: dict[str, Any]
    memory_is_limited: bool
    started: str
    environment: dict[str, Any]
    rows: int
    checksum: str
    missing: list[Missing]
    retries: int
    error: str | None
    seconds: float
    rows_per_second: float
    cpu_seconds: float
    children_cpu_seconds: float
    server_cpu_seconds: float | None
    peak_mib: float
    children_peak_mib: list[float]

    @property
    def is_complete(self) -> bool:
        """Whether it says that every row was read."""
        return self.error is None and not self.missing

    def to_json(self) -> str:
        return _text(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises:   ValueError: it is not a run, or one of another version."""
        fields = _checked(text, RUN)
        fields["missing"] = [Missing(**each) for each in fields["missing"]]
        return cls(**fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A figure of several runs."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: list[float]) -> Self:
        return cls(median=round(median(figures), 3), low=min(figures), high=max(figures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A strategy at one size: the spread of its complete runs."""

    strategy: str
    table_rows: int
    runs: int
    """Complete ones."""
    failed: int
    """Runs that ended with an error, missed rows, or saw other rows than those of the table."""
    rows_per_second: Spread | None
    seconds: Spread | None
    cpu_seconds: Spread | None
    """Of the process and its children."""
    cpu_microseconds_per_row: Spread | None
    """The same for each row: what no quicker server makes any less."""
    server_cpu_seconds: Spread | None
    peak_mib: Spread | None
    """Of the process."""
    all_peak_mib: Spread | None
    """The peaks of the process and of all its children, together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A whole lab."""

    schema: str = SUMMARY
    environment: dict[str, Any]
    embedded_server: bool
    limits: dict[str, Any]
    policy: str
    expected: dict[str, dict[str, Any]]
    """For each number of rows: rows and checksum of what was loaded."""
    cells: list[Cell]
    artifacts: list[str]
    """The files of the runs, beside this one."""

    def to_json(self) -> str:
        return _text(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises:   ValueError: it is not a summary, or one of another version."""
        fields = _checked(text, SUMMARY)
        fields["cells"] = [
            Cell(**{name: _spread(each) for name, each in cell.items()}) for cell in fields["cells"]
        ]
        return cls(**fields)


def cell_of(strategy: str, table_rows: int, runs: list[Run], failed: int) -> Cell:
    """Sum up the complete *runs* of a strategy at one size."""

    def spread(figures: list[float | None]) -> Spread | None:
        known = [each for each in figures if each is not None]
        return Spread.of(known) if known else None

    cpu = [round(run.cpu_seconds + run.children_cpu_seconds, 3) for run in runs]
    return Cell(
        strategy=strategy,
        table_rows=table_rows,
        runs=len(runs),
        failed=failed,
        rows_per_second=spread([run.rows_per_second for run in runs]),
        seconds=spread([run.seconds for run in runs]),
        cpu_seconds=spread(list(cpu)),
        cpu_microseconds_per_row=spread([round(seconds / table_rows * 1e6, 3) for seconds in cpu]),
        server_cpu_seconds=spread([run.server_cpu_seconds for run in runs]),
        peak_mib=spread([run.peak_mib for run in runs]),
        all_peak_mib=spread([round(run.peak_mib + sum(run.children_peak_mib), 1) for run in runs]),
    )


def read_summary(directory: Path) -> Summary:
    """The summary of a lab that was run before."""
    return Summary.from_json((directory / "summary.json").read_text("utf-8"))


def _spread(figure: Any) -> Any:
    return Spread(**figure) if isinstance(figure, dict) else figure


def _text(fields: dict[str, Any]) -> str:
    return json.dumps(fields, indent=2, allow_nan=False) + "\n"


def _checked(text: str, schema: str) -> dict[str, Any]:
    fields = json.loads(text)
    if not isinstance(fields, dict) or fields.get("schema") != schema:
        raise ValueError(f"expected {schema}")
    return fields
