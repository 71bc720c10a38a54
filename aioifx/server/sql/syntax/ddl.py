"""Indexes, views, synonyms, sequences, roles, types; CREATE, ALTER, DROP and RENAME. Never: columns and constraints.

Source: the grammar is documented (Guide to SQL: Syntax, the statements of these names).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

from aioifx.server.sql.complex_types import row_of
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.control import parse_database_name, parse_grantee
from aioifx.server.sql.syntax.external_tables import parse_create_external_table
from aioifx.server.sql.syntax.spl import at_create_routine, parse_create_routine, parse_drop_routine
from aioifx.server.sql.syntax.storage_clauses import parse_index_storage
from aioifx.server.sql.syntax.tables import parse_alter_table, parse_create_table, parse_if_not_exists
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_owner, parse_qualified_name
from aioifx.server.sql.syntax.tokens import TokenKind
from aioifx.server.sql.syntax.triggers import parse_create_trigger
from aioifx.server.sql.syntax.types import parse_row_fields, parse_type

Reader: TypeAlias = Callable[[TokenStream, int], nodes.Statement]
"""Reads a statement after its first word, which is at the given offset."""

_DROPS: Final[dict[str, nodes.DropKind]] = {kind: kind for kind in get_args(nodes.DropKind)}
_RENAMES: Final[dict[str, nodes.RenameKind]] = {kind: kind for kind in get_args(nodes.RenameKind)}
_NOT_EXECUTED: Final = (
    "procedure", "function", "routine", "opaque type", "cast", "implicit cast", "explicit cast",
    "aggregate", "opclass", "access_method", "secondary access_method", "primary access_method",
    "xadatasource", "security", "user", "default user", "trusted context", "fragment", "database",
)  # fmt: skip
"""Objects that Informix can create, alter or drop, and this server cannot."""


def parse_create(s: TokenStream) -> nodes.Statement:
    """Read any CREATE statement."""
    offset = s.expect("create").offset
    start = s.token
    if at_create_routine(s):
        return parse_create_routine(s, offset)
    if s.at("row", "type") or s.at("distinct", "type"):
        return parse_create_type(s, offset)
    if s.at("external", "table"):
        return parse_create_external_table(s, offset)
    if s.at_any("table", "temp", "standard", "raw"):
        return parse_create_table(s, offset)
    if s.at_any("index", "unique", "cluster") or (s.at("distinct") and not s.at("type", ahead=1)):
        return _create_index(s, offset)
    if s.at_any("synonym", "public", "private"):
        return _create_synonym(s, offset)
    if (reader := _CREATES.get(start.text)) is not None:
        s.advance()
        return reader(s, offset)
    raise _not_executed(s, "CREATE")


def parse_alter(s: TokenStream) -> nodes.Statement:
    """Read ALTER TABLE or ALTER SEQUENCE."""
    offset = s.expect("alter").offset
    if s.at("table"):
        return parse_alter_table(s, offset)
    if s.accept("sequence"):
        sequence = parse_qualified_name(s)
        return nodes.AlterSequence(offset, sequence, _sequence_options(s, altering=True))
    if s.at("index"):
        raise s.unsupported("ALTER INDEX")
    raise _not_executed(s, "ALTER")


def parse_drop(s: TokenStream) -> nodes.Statement:
    """Read any DROP statement."""
    offset = s.expect("drop").offset
    if s.accept("database"):
        if_exists = _if_exists(s)
        return nodes.DropDatabase(offset, parse_database_name(s), if_exists)
    if s.at("row", "type") or s.at("type"):
        return parse_drop_type(s, offset)
    if s.at_any("procedure", "function", "routine", "specific"):
        return parse_drop_routine(s, offset)
    kind = _DROPS.get(s.token.text)
    if kind is None:
        raise _not_executed(s, "DROP")
    s.advance()
    if_exists = _if_exists(s)
    name = parse_qualified_name(s)
    restrict = False
    if kind in ("table", "view"):
        behaviour = s.accept_any("cascade", "restrict")
        restrict = behaviour is not None and behaviour.text == "restrict"
    elif kind == "index":
        s.accept("online")
    return nodes.Drop(offset, kind, name, if_exists, restrict)


def parse_rename(s: TokenStream) -> nodes.Statement:
    """Read RENAME."""
    offset = s.expect("rename").offset
    if s.accept("column"):
        start = s.token.offset
        owner = parse_owner(s) if s.at(".", ahead=3) else ""
        table = nodes.QualifiedName(start, s.name().text, owner)
        s.expect(".")
        column = s.name()
        s.expect("to")
        return nodes.RenameColumn(offset, table, column, s.name())
    if s.accept("database"):
        database = parse_database_name(s)
        s.expect("to")
        return nodes.RenameDatabase(offset, database, s.name())
    kind = _RENAMES[s.expect_any(*_RENAMES).text]
    name = parse_qualified_name(s)
    s.expect("to")
    return nodes.RenameObject(offset, kind, name, s.name())


def _not_executed(s: TokenStream, verb: str) -> SqlError:
    """The error for the word after the verb: -999 if it is valid in Informix, else -201."""
    for words in _NOT_EXECUTED:
        if s.at(*words.split()):
            return s.unsupported(f"{verb} {words.upper()}")
    return s.refusal()


def _if_exists(s: TokenStream) -> bool:
    return s.accept("if", "exists") is not None


# --- Indexes, views, synonyms ------------------------------------------------


def _create_index(s: TokenStream, offset: int) -> nodes.CreateIndex:
    unique = s.accept_any("unique", "distinct") is not None
    cluster = s.accept("cluster") is not None
    s.expect("index")
    if_not_exists = parse_if_not_exists(s)
    index = parse_qualified_name(s)
    s.expect("on")
    table = parse_qualified_name(s)
    parts = s.enclosed(_index_part)
    storage = parse_index_storage(s)
    return nodes.CreateIndex(offset, index, table, parts, unique, cluster, if_not_exists, **storage._asdict())


def _index_part(s: TokenStream) -> nodes.IndexPart:
    start = s.token.offset
    key = s.name() if s.at_any(",", ")", ahead=1) or s.at_name(1) else _index_function(s)
    if s.at_name() and not s.at_any("asc", "desc"):
        raise s.unsupported("OPCLASS")
    direction = s.accept_any("asc", "desc")
    return nodes.IndexPart(start, key, direction is not None and direction.text == "desc")


def _index_function(s: TokenStream) -> nodes.Call:
    routine = parse_qualified_name(s)
    return nodes.Call(routine.offset, routine, s.enclosed(_index_argument))


def _index_argument(s: TokenStream) -> nodes.Column:
    """Read a column; BSON_GET would take a text, too."""
    if not s.at_name():
        raise s.unsupported("FUNCTIONAL INDEX")
    name = s.name()
    return nodes.Column(name.offset, name.text)


def _create_view(s: TokenStream, offset: int) -> nodes.CreateView:
    if_not_exists = parse_if_not_exists(s)
    view = parse_qualified_name(s)
    if s.at("of", "type"):
        raise s.unsupported("CREATE VIEW OF TYPE")
    columns = s.names_enclosed() if s.at("(") else ()
    s.expect("as")
    query = s.grammar.subquery(s)
    check_option = s.accept("with", "check", "option") is not None
    text = s.written(offset, s.last_end)
    return nodes.CreateView(offset, view, columns, query, text, if_not_exists, check_option)


def _create_synonym(s: TokenStream, offset: int) -> nodes.CreateSynonym:
    private = s.accept("private") is not None
    if not private:
        s.accept("public")
    s.expect("synonym")
    if_not_exists = parse_if_not_exists(s)
    synonym = parse_qualified_name(s)
    s.expect("for")
    return nodes.CreateSynonym(offset, synonym, parse_qualified_name(s), private, if_not_exists)


def _create_role(s: TokenStream, offset: int) -> nodes.CreateRole:
    if_not_exists = parse_if_not_exists(s)
    return nodes.CreateRole(offset, parse_grantee(s), if_not_exists)


def _create_database(s: TokenStream, offset: int) -> nodes.CreateDatabase:
    if_not_exists = parse_if_not_exists(s)
    database = parse_database_name(s)
    log: Literal["none", "unbuffered", "buffered"] = "none"
    if s.accept("in"):
        s.name()
    if s.accept("with"):
        buffered = s.accept("buffered") is not None
        s.expect("log")
        if s.at("mode", "ansi"):
            raise s.unsupported("MODE ANSI")
        log = "buffered" if buffered else "unbuffered"
    if s.accept("nlscase"):
        if s.at("insensitive"):
            raise s.unsupported("NLSCASE INSENSITIVE")
        s.expect("sensitive")
    return nodes.CreateDatabase(offset, database, log, if_not_exists)


# --- Sequences ---------------------------------------------------------------


def _create_sequence(s: TokenStream, offset: int) -> nodes.CreateSequence:
    if_not_exists = parse_if_not_exists(s)
    sequence = parse_qualified_name(s)
    return nodes.CreateSequence(offset, sequence, _sequence_options(s, altering=False), if_not_exists)


def _sequence_options(s: TokenStream, *, altering: bool) -> nodes.SequenceOptions:
    options = nodes.SequenceOptions(s.token.offset)
    read: set[str] = set()
    while s.at_name() and not (s.ends_at_statement and s.at_any("create", "grant")):
        token = s.token
        subject = _SEQUENCE_SUBJECTS.get(token.text)
        if (
            subject is None
            or subject in read
            or (subject == "start") != (token.text in _START_WORDS[altering])
        ):
            raise s.refusal()
        read.add(subject)
        s.advance()
        options = _with_option(s, options, token.text)
    if altering and not read:
        raise s.refusal()
    return options


_START_WORDS: Final = {False: ("start",), True: ("restart",)}
_SEQUENCE_SUBJECTS: Final = {
    "start": "start",
    "restart": "start",
    "increment": "increment",
    "maxvalue": "maximum",
    "nomaxvalue": "maximum",
    "minvalue": "minimum",
    "nominvalue": "minimum",
    "cycle": "cycle",
    "nocycle": "cycle",
    "cache": "cache",
    "nocache": "cache",
    "order": "order",
    "noorder": "order",
}
"""The property that an option sets; no property may be set twice."""


def _with_option(s: TokenStream, options: nodes.SequenceOptions, word: str) -> nodes.SequenceOptions:
    """Read what follows the option's word."""
    match word:
        case "start":
            s.accept("with")
            return replace(options, start=s.signed_integer())
        case "restart":
            number = s.signed_integer() if s.accept("with") else None
            return replace(options, has_restart=True, start=number)
        case "increment":
            s.accept("by")
            return replace(options, increment=s.signed_integer())
        case "maxvalue":
            return replace(options, maximum=s.signed_integer())
        case "minvalue":
            return replace(options, minimum=s.signed_integer())
        case "nomaxvalue":
            return replace(options, no_maximum=True)
        case "nominvalue":
            return replace(options, no_minimum=True)
        case "cycle" | "nocycle":
            return replace(options, cycles=word == "cycle")
        case "cache":
            return replace(options, cache=s.integer())
        case "nocache":
            return replace(options, cache=0)
        case _:
            return replace(options, is_ordered=word == "order")


# --- Violations tables -------------------------------------------------------


def parse_start_violations(s: TokenStream) -> nodes.StartViolations:
    """Read START VIOLATIONS TABLE."""
    offset = s.expect("start", "violations", "table", "for").offset
    table = parse_qualified_name(s)
    names: tuple[nodes.Name, nodes.Name] | None = None
    if s.accept("using"):
        violations = s.name()
        s.expect(",")
        names = violations, s.name()
    return nodes.StartViolations(offset, table, names, s.integer() if s.accept("max", "rows") else None)


def parse_stop_violations(s: TokenStream) -> nodes.StopViolations:
    """Read STOP VIOLATIONS TABLE."""
    offset = s.expect("stop", "violations", "table", "for").offset
    return nodes.StopViolations(offset, parse_qualified_name(s))


# --- Schemas -----------------------------------------------------------------


def _create_schema(s: TokenStream, offset: int) -> nodes.CreateSchema:
    s.expect("authorization")
    owner = s.advance().text if s.token.kind is TokenKind.STRING else s.name().text
    statements: list[nodes.Statement] = []
    s.ends_at_statement = True
    while not statements or s.at_any("create", "grant"):
        if not s.at("grant") and not (s.at("create") and s.at_any(*_IN_SCHEMAS, ahead=1)):
            raise s.refusal()
        statements.append(s.grammar.statement(s))
    s.ends_at_statement = False
    return nodes.CreateSchema(offset, owner.rstrip(), tuple(statements))


_IN_SCHEMAS: Final = (
    "table", "standard", "raw", "view", "index", "unique", "distinct", "cluster", "synonym", "public", "private",
    "trigger", "sequence", "row", "opaque", "cast", "implicit", "explicit",
)  # fmt: skip
"""What follows CREATE in a schema; DISTINCT may be an index or a type (documented: CREATE SCHEMA statement)."""

_CREATES: Final[dict[str, Reader]] = {
    "schema": _create_schema,
    "view": _create_view,
    "role": _create_role,
    "database": _create_database,
    "sequence": _create_sequence,
    "trigger": parse_create_trigger,
}

OBJECTS: Final[dict[str, Callable[[TokenStream], nodes.Statement]]] = {
    "create": parse_create,
    "alter": parse_alter,
    "drop": parse_drop,
    "rename": parse_rename,
    "start": parse_start_violations,
    "stop": parse_stop_violations,
}
"""Readers by the first word of a statement."""


# --- Types -------------------------------------------------------------------


def parse_create_type(s: TokenStream, offset: int) -> nodes.Statement:
    """Read CREATE ROW TYPE or CREATE DISTINCT TYPE from the word after CREATE."""
    is_row = s.advance().text == "row"
    s.expect("type")
    if_not_exists = s.accept("if", "not", "exists") is not None
    name = parse_qualified_name(s)
    if not is_row:
        s.expect("as")
        return nodes.CreateDistinctType(offset, name, parse_type(s), if_not_exists)
    fields = parse_row_fields(s) if s.at("(") else ()
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise SqlError(-328, token=max(names, key=names.count), offset=offset)
    row = (
        row_of(names, [field.type for field in fields], [field.is_required for field in fields])
        if fields
        else None
    )
    supertype = parse_type(s) if s.accept("under") else None
    if row is None and supertype is None:
        raise s.refusal()
    return nodes.CreateRowType(offset, name, row, supertype, if_not_exists)


def parse_drop_type(s: TokenStream, offset: int) -> nodes.Statement:
    """Read DROP ROW TYPE or DROP TYPE from the word after DROP; RESTRICT is required (documented)."""
    is_row = s.accept("row") is not None
    s.expect("type")
    if_exists = s.accept("if", "exists") is not None
    name = parse_qualified_name(s)
    s.expect("restrict")
    return nodes.DropType(offset, name, is_row, if_exists)
