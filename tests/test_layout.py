"""The package as a whole: each module has tests and a description, and imports only what it may."""

from __future__ import annotations

import ast
import graphlib
import importlib.metadata
import inspect
import json
import pickle
import pickletools
import re
import subprocess
import sys
import tomllib
import traceback
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import aioifx
import aioifx.bson
import aioifx.dbapi
import aioifx.diagnosis
import aioifx.server
import aioifx.verify
from tests.client.conftest import ON_SOCKETS
from tests.sampling import (
    LARGE,
    MOST,
    MOST_OF_SYSTEM,
    left_out,
    not_in_the_sample,
    repeated_on_other_transports,
)

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "aioifx"
TESTS = ROOT / "tests"

TOP_LEVEL = {"pyproject.toml", "aioifx", "tests", "examples", "docs", "compose.yaml", "README.md", "LICENSE"}
BUILD_PRODUCTS = {"aioifx.egg-info", "build", "dist"}

# Tests of the whole rather than of one module.
WHOLE = {
    "test_docs.py", "test_examples.py", "test_layout.py", "test_libraries.py", "test_links.py",
    "test_values.py", "test_vocabulary.py",
}  # fmt: skip
WHOLE_FOLDERS = {"bench", "compliance", "corpus", "planted", "system"}

# pytest would take a file named test___main__.py, a reader would not.
TEST_NAMES = {"__main__.py": "test_main.py"}


# What a build leaves beside the sources of the native kernel.
BUILT = {".c", ".pyd", ".so"}


def modules() -> list[Path]:
    """All modules in Python, relative to the package; packages by their __init__.py."""
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def native_modules() -> list[Path]:
    """Every module in Cython, likewise."""
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.pyx"))


def compiled_modules() -> list[Path]:
    """Every module in Python that is compiled, likewise: with types in a .pxd file."""
    typed = sorted(path.relative_to(PACKAGE).with_suffix(".py") for path in PACKAGE.rglob("*.pxd"))
    return [module for module in typed if (PACKAGE / module).exists()]


def mirror_of(module: Path) -> Path:
    return module.with_name(TEST_NAMES.get(module.name, f"test_{module.name}"))


@cache
def tree_of(module: Path) -> ast.Module:
    text = (PACKAGE / module).read_text("utf-8")
    if module.suffix == ".pyx":  # only its beginning is Python
        text = text[: text.index('"""', text.index('"""') + 3) + 3]
    return ast.parse(text)


def first_line(module: Path) -> str:
    docstring = ast.get_docstring(tree_of(module), clean=False)
    return docstring.splitlines()[0] if docstring else ""


def test_every_module_has_a_test_file() -> None:
    # A package's __init__ is checked here: it has a line in the plan, and holds no code of its own (see below).
    expected = {mirror_of(module) for module in modules() if module.name != "__init__.py"}
    missing = {path.as_posix() for path in expected if not (TESTS / path).is_file()}
    assert missing == set()


def test_every_test_file_has_a_module() -> None:
    expected = {mirror_of(module) for module in modules()}
    found = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    strays = {
        path.as_posix()
        for path in found - expected
        if path.as_posix() not in WHOLE and WHOLE_FOLDERS.isdisjoint(path.parts)
    }
    assert strays == set()


def test_every_package_has_an_init_file() -> None:
    # Without it the package would be missing from the wheel and from the page of modules.
    missing = {
        module.parent.as_posix()
        for module in modules()
        if not (PACKAGE / module.parent / "__init__.py").is_file()
    }
    assert missing == set()


def test_inner_packages_have_only_a_docstring_in_their_init_file() -> None:
    public = {
        Path("__init__.py"),
        Path("_speedups", "__init__.py"),  # it must decide before a module of it is imported
        *(
            Path(name, "__init__.py")
            for name in ("dbapi", "diagnosis", "server", "sqlalchemy", "testing", "verify")
        ),
    }
    for module in modules():
        if module.name == "__init__.py" and module not in public:
            body = tree_of(module).body
            assert len(body) == 1 and isinstance(body[0], ast.Expr), f"{module} has code"


@pytest.mark.exhaustive
def test_each_module_says_in_its_first_line_what_it_knows() -> None:
    silent = [
        module.as_posix()
        for module in [*modules(), *native_modules()]
        if not re.search(r"\S\.$", first_line(module))
    ]
    assert silent == []


def test_each_native_module_has_a_stub_is_built_and_optional() -> None:
    assert {module.parent.as_posix() for module in native_modules()} == {"_speedups"}
    stubs = {path.relative_to(PACKAGE).with_suffix(".pyx") for path in PACKAGE.rglob("*.pyi")}
    assert stubs == set(native_modules())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extensions = project["tool"]["setuptools"]["ext-modules"]
    assert all(extension["optional"] for extension in extensions)
    assert {(extension["name"], *extension["sources"]) for extension in extensions} == {
        (f"aioifx._speedups.{module.stem}", f"aioifx/{module.as_posix()}")
        for module in (*native_modules(), *compiled_modules())
    }


@pytest.mark.exhaustive
def test_only_codecs_native_imports_what_is_in_cython() -> None:
    # That a module is not there must be noticed in one place; import-linter does not see what is not Python.
    there = {f"aioifx._speedups.{module.stem}" for module in compiled_modules()}
    knowing = {
        module.as_posix()
        for module in modules()
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "_speedups" in ast.unparse(node)
        and not (isinstance(node, ast.ImportFrom) and node.module in there)
    }
    assert knowing == {"codecs/native.py"}


@pytest.mark.exhaustive
def test_the_generated_page_of_modules_describes_each() -> None:
    run = subprocess.run(
        [sys.executable, ".build/plan.py"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=30,
    )
    sections = dict(re.findall(r"^## `([\w.]+)`$(.*?)(?=^## |\Z)", run.stdout, re.M | re.S))
    for module in [*modules(), *native_modules()]:
        purpose, _, never = first_line(module).partition(" Never: ")
        package = ".".join(["aioifx", *module.parent.parts])
        is_package = module.name == "__init__.py"
        start = "" if is_package else f"| `{module.stem}` | "
        between = " Never: " if is_package else " | "
        line = f"\n{start}{purpose}{between}{never.removesuffix('.')}"
        assert line in sections[package].replace("\\", ""), module


def test_importing_the_package_loads_nothing_but_itself_and_the_standard_library() -> None:
    program = (
        "import json, sys; before = set(sys.modules); import aioifx; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    loaded = set(json.loads(run.stdout))
    ours = re.compile(r"aioifx|cython_runtime|_cython_\d")  # the kernel makes the latter two itself
    strangers = {
        name
        for name in loaded
        if name.partition(".")[0] not in sys.stdlib_module_names and not ours.match(name)
    }
    assert strangers == set()
    unwanted = re.compile(
        r"_?sqlite3|aioifx\.(server|diagnosis|cli)\b|unittest|http|multiprocessing|importlib\.metadata"
    )
    assert {name for name in loaded if unwanted.match(name)} == set()


def test_names_that_are_imported_on_use_are_the_same_for_type_checkers() -> None:
    (hidden,) = (
        node
        for node in tree_of(Path("__init__.py")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "_typing.TYPE_CHECKING"
    )
    shown = {
        alias.name: node.module
        for node in hidden.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert shown == {
        "rows": "aioifx",
        **{name: module for module, names in aioifx._SOURCES.items() for name in names.split()},
    }
    with pytest.raises(AttributeError, match=r"^module 'aioifx' has no attribute 'nonsense'$"):
        _ = aioifx.nonsense  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    assert {name for name in dir(aioifx) if not name.startswith("__")} == {*aioifx.__all__}
    assert aioifx.__version__ == importlib.metadata.version("aioifx")


def test_the_package_has_exactly_the_names_in_all() -> None:
    assert sorted(set(aioifx.__all__)) == sorted(aioifx.__all__)
    missing = {name for name in aioifx.__all__ if not hasattr(aioifx, name)}
    assert missing == set()
    modules = {path.stem for path in PACKAGE.iterdir()}
    # As the package of a plugin, pytest rewrites it: it then has names such as @pytest_ar.
    public = {name for name in vars(aioifx) if name.isidentifier() and not name.startswith("_")}
    unlisted = public - set(aioifx.__all__) - modules
    assert unlisted - {"annotations"} == set()


@pytest.mark.parametrize("package", [aioifx, aioifx.bson, aioifx.diagnosis, aioifx.server, aioifx.verify])
def test_public_names_do_not_show_the_modules_that_define_them(package: ModuleType) -> None:
    public = {name: getattr(package, name) for name in package.__all__}
    definitions = {name: item for name, item in public.items() if callable(item)}
    assert set(public) - set(definitions) <= {"rows", "speedups", "CHECKS"}
    for name, definition in definitions.items():
        assert (definition.__module__, definition.__qualname__) == (package.__name__, name)
        assert pickle.loads(pickle.dumps(definition)) is definition
        if inspect.isclass(definition) and not issubclass(definition, Enum):  # an Enum shows no module
            assert repr(definition) == f"<class '{package.__name__}.{name}'>"


def test_public_names_can_be_used_where_every_import_is_lazy() -> None:
    """From Python 3.15 on; older ones ignore the option."""
    program = """if True:
        import aioifx, aioifx.bson, aioifx.diagnosis, aioifx.server, aioifx.verify

        for package in aioifx, aioifx.bson, aioifx.diagnosis, aioifx.server, aioifx.verify:
            for name in package.__all__:
                assert getattr(getattr(package, name), "__module__", package.__name__) == package.__name__, name
    """
    command = [sys.executable, "-W", "error", "-X", "lazy_imports=all", "-c", program]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_traceback_names_the_public_path_of_an_error() -> None:
    error = aioifx.ConnectionLost("the server closed the connection")
    assert traceback.format_exception_only(error) == [
        "aioifx.ConnectionLost: the server closed the connection\n"
    ]


def test_pickles_name_public_paths() -> None:
    record = aioifx.rows.record_maker([aioifx.Column("a", aioifx.SqlType(aioifx.TypeCode.INTEGER))])((1,))
    assert repr(type(record)) == "<class 'aioifx.Record'>"
    for value in (
        record,
        aioifx.UniqueViolation("twice", sqlcode=-268),
        aioifx.TypeCode.INTEGER,
        aioifx.CsvFormat(),
    ):
        pickled = pickle.dumps(value)
        twin = pickle.loads(pickled)
        assert type(twin) is type(value) and repr(twin) == repr(value)
        modules = {
            arg for _, arg, _ in pickletools.genops(pickled) if isinstance(arg, str) and "aioifx" in arg
        }
        assert modules <= {"aioifx", "aioifx.rows"}


ON_USE = {Path("__init__.py"), Path("testing/__init__.py"), Path("testing/plugin.py")}
"""Modules whose `__getattr__` imports the names that they show to type checkers."""


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements in it, without the expressions, which are most of a tree."""
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        parts = getattr(node, name, ())
        for part in parts if isinstance(parts, list) else ():
            yield from statements(part)


def imported_names(module: Path) -> Iterator[str]:
    """What a module imports, also within functions and for type checkers; not names that `__getattr__` imports."""
    tree = tree_of(module)
    unseen = {
        id(inner)
        for node in (statements(tree) if module in ON_USE else ())
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in statements(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in unseen:
            start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from (start + alias.name for alias in node.names)


@pytest.mark.exhaustive
def test_no_import_circle_exists_not_even_within_functions() -> None:
    paths = {
        ".".join(["aioifx", *path.with_suffix("").parts]).removesuffix(".__init__"): path
        for path in modules()
    }
    graph = {
        name: {
            found
            for imported in imported_names(module)
            for found in [imported if imported in paths else imported.rpartition(".")[0]]
            if found in paths and found != name
        }
        for name, module in paths.items()
    }
    order = [*graphlib.TopologicalSorter(graph).static_order()]  # a CycleError lists the modules of a circle
    assert {*order} == {*paths}


def test_connect_imports_nothing_that_only_some_programs_need() -> None:
    program = (
        "import asyncio, json, sys; others = {*sys.modules}; import aioifx; aioifx.connect;"
        "print(json.dumps(sorted({*sys.modules} - others)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    rare = re.compile(
        r"csv|pathlib|platform|random|uuid|urllib\.parse|ipaddress"
        r"|aioifx\.(arrow|diagnosis|explain|server|tracing\.recorder)"
        r"|aioifx\.client\.(bulk\.(?!arguments)\w+|pool)\b|aioifx\.client\.config\.sqlhosts|aioifx\.client\.connect\.locks"
        r"|aioifx\.client\.session\.client_files"
        r"|aioifx\.codecs\.(arrow_c_data|arrow_layout|arrow_plan|arrow_values|bson|column_buffers|columns"
        r"|literal_reader|literal_writer|value_text)"
    )
    assert [name for name in json.loads(run.stdout) if rare.fullmatch(name)] == []


def test_public_classes_that_the_package_imports_on_use_name_their_public_path() -> None:
    program = (
        "import importlib, json, sys, aioifx; aioifx.connect; aioifx.create_pool; "
        "loaded = set(sys.modules); "
        "print(json.dumps([f'{module}.{name}' for module, names in aioifx._SOURCES.items() "
        "if module.startswith(('aioifx.client', 'aioifx.tracing')) and module not in loaded "
        "for name in names.split() if getattr(importlib.import_module(module), name).__module__ != 'aioifx']))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    assert json.loads(run.stdout) == []


def test_the_default_suite_keeps_each_value_of_each_parameter_of_a_sampled_test() -> None:
    cases: list[Any] = [
        SimpleNamespace(
            name=f"{call}-{way}-{loop}",
            callspec=SimpleNamespace(params={"call": call, "way": way, "loop": loop}),
        )
        for call in range(12)
        for way in ("tcp", "tls")
        for loop in ("asyncio", "uvloop")
    ]
    missing = not_in_the_sample(cases)
    kept = [case.callspec.params for case in cases if case not in missing]
    assert 12 <= len(kept) <= 14
    for name, count in (("call", 12), ("way", 2), ("loop", 2)):
        assert len({params[name] for params in kept}) == count
    assert not_in_the_sample([*reversed(cases)]) == missing
    assert not_in_the_sample(cases[:1]) == []


def test_matrices_of_the_whole_system_are_sampled_on_uvloop_and_with_tls() -> None:
    cases: list[Any] = [
        SimpleNamespace(
            name=f"{loop}-{way}-{call}",
            callspec=SimpleNamespace(
                params={"call": call, "way": way, "loop": loop}, id=f"{loop}-{way}-{call}"
            ),
            get_closest_marker=lambda name: name == "sampled",
        )
        for call in range(12)
        for way in ("tcp", "tls")
        for loop in ("asyncio", "uvloop")
    ]
    repeated = repeated_on_other_transports(cases)
    kept = [case.callspec.params for case in cases if case not in repeated]
    for loop, way, most in (("asyncio", "tcp", 12), ("asyncio", "tls", 12), ("uvloop", "tls", 13)):
        calls = [params["call"] for params in kept if (params["loop"], params["way"]) == (loop, way)]
        assert len(calls) <= most
        assert loop == "uvloop" or {*calls} == {*range(12)}
    on_uvloop = [params for params in kept if params["loop"] == "uvloop"]
    assert {params["call"] for params in on_uvloop} == {*range(12)}
    assert {params["way"] for params in on_uvloop} == {"tcp", "tls"}
    assert len(on_uvloop) <= 14
    cases[0].get_closest_marker = lambda name: None
    assert repeated_on_other_transports(cases) == []


def test_the_default_suite_keeps_a_case_of_each_table_and_of_each_test_of_the_whole_system() -> None:
    cases: list[Any] = [
        SimpleNamespace(
            name=f"{way}-{loop}",
            callspec=SimpleNamespace(params={"way": way, "loop": loop}, id=f"{way}-{loop}"),
            get_closest_marker=lambda name: None,
            obj=None,
        )
        for way in range(100)
        for loop in ("asyncio", "uvloop")
    ]

    def kept(count: int, *, is_system: bool = False) -> int:
        return count - len(left_out(cases[:count], is_system=is_system))

    assert LARGE // 2 - 1 <= kept(LARGE - 2) < LARGE - 2  # those on asyncio
    assert 1 <= kept(LARGE - 2, is_system=True) <= kept(LARGE) <= LARGE // 4
    assert kept(len(cases)) == MOST
    assert kept(len(cases), is_system=True) == MOST_OF_SYSTEM
    for case in cases[::2]:
        assert left_out([case], is_system=True) == []


def test_each_test_module_that_runs_on_both_loops_exists() -> None:
    stems = {path.stem for path in (TESTS / "client").rglob("test_*.py")}
    assert ON_SOCKETS <= stems


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_the_parts_of_ci_leave_out_what_others_run() -> None:
    head = tomllib.loads((ROOT / ".ci" / "parts.toml").read_text("utf-8"))["head"]
    script = f"{head}\nbelow --ignore=tests client server/sql; below . $layers $slow"
    run = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True)
    ignored, paths = run.stdout.split()[:2], run.stdout.split()[2:]
    assert (ignored, run.stderr) == (["--ignore=tests/client", "--ignore=tests/server/sql"], "")
    assert len(paths) > 5 and [path for path in paths if not (ROOT / path).is_dir()] == []


def test_every_list_of_pythons_is_that_of_the_classifiers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line)
        for line in project["project"]["classifiers"]
    )
    versions = [match[1] for match in found if match]
    oldest, newest = versions[0], versions[-1]
    free_threaded = [f"{version}t" for version in versions if int(version[2:]) >= 14]
    built = [f"cp{version.replace('.', '')}-*" for version in (*versions, *free_threaded)]
    tool = project["tool"]
    assert tool["cibuildwheel"]["build"] == built
    assert project["project"]["requires-python"] == f">={oldest}"
    assert tool["mypy"]["python_version"] == tool["pyright"]["pythonVersion"] == oldest
    assert tool["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"

    def said(file: str, pattern: str) -> list[str]:
        return re.findall(pattern, (ROOT / file).read_text("utf-8"), re.M)

    (matrix,) = said(".github/workflows/ci.yml", r"^ *python: (\[.*\])$")
    assert json.loads(matrix) == [*versions, *free_threaded]
    (cached,) = said(".build/pythons.py", r"^VERSIONS: Final = \((.*)\)$")
    assert json.loads(f"[{cached}]") == versions[-2:]
    assert said("docs/development/testing.md", r"gets CPython (\S+ and \S+) from") == [
        " and ".join(versions[-2:])
    ]
    assert said("docs/development/releasing.md", r"^\| (3\.\d+) \|") == versions
    wheels = f"CPython {oldest} to {newest}, {' and '.join(free_threaded)};"
    assert said("docs/howto/speedups.md", r"\| (CPython .*?;)") == [wheels]
    for file in ("README.md", "docs/development/contributing.md", "docs/tutorial/first-query.md"):
        assert said(file, r"(3\.\d+) or newer") == [oldest]


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_nothing_else_stands_at_the_top() -> None:
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert found - BUILD_PRODUCTS == TOP_LEVEL


def text_files() -> Iterator[Path]:
    for name in sorted(
        {*TOP_LEVEL, ".build", ".ci", ".github", ".mkdocs.yml", ".gitignore", ".editorconfig"}
    ):
        top = ROOT / name
        for path in [top] if top.is_file() else top.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix not in BUILT:
                yield path


@pytest.mark.exhaustive
def test_no_file_names_a_path_of_somebodys_machine() -> None:
    # Brackets keep this pattern from finding itself.
    somebody = re.compile(rb"(?<![\w.$}-])/(?:work|tmp|root|home|Users)/[\w.]|[A-Z]:\\+Users")
    found = {
        f"{path.relative_to(ROOT)}: {match[0].decode()}"
        for path in text_files()
        for match in somebody.finditer(path.read_bytes())
    }
    assert found == set()
