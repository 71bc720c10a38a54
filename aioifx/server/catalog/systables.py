"""The tables of the system catalog, of sysmaster and syscdcv1, equal in all databases. Never: what a database has.

Source: names, order and columns are documented (SQL Reference, "System catalog tables"); tabids follow that order.
Columns are given for tables that the server fills or that tools query; a query on any other table is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from aioifx.server.catalog import cdc_tables
from aioifx.server.sql.builtin_types import (
    BYTE,
    EXTENDED_BSON,
    EXTENDED_JSON,
    SYSTEM_OWNER,
    TEXT,
    boolean,
    lvarchar,
)
from aioifx.server.sql.model.schema import ColumnDef, Table, TableKind
from aioifx.sqltypes import SqlType, TypeCode, Unit, datetime_qualifier

NAMES: Final = """
systables syscolumns sysindices systabauth syscolauth sysviews sysusers sysdepend syssynonyms syssyntable
sysconstraints sysreferences syschecks sysdefaults syscoldepend sysprocedures sysprocbody sysprocplan sysprocauth
sysblobs sysopclstr systriggers systrigbody sysdistrib sysfragments sysobjstate sysviolations sysfragauth sysroleauth
sysxtdtypes sysattrtypes sysxtddesc sysinherits syscolattribs syslogmap syscasts sysxtdtypeauth sysroutinelangs
syslangauth sysams systabamdata sysopclasses syserrors systraceclasses systracemsgs sysaggregates syssequences
sysdirectives sysxasourcetypes sysxadatasources sysseclabelcomponents sysseclabelcomponentelements syssecpolicies
syssecpolicycomponents syssecpolicyexemptions sysseclabels sysseclabelnames sysseclabelauth syssurrogateauth
sysproccolumns sysexternal sysextdfiles sysextcols sysautolocate sysfragdist sysdomains sysindexes
""".split()
"""In order of tabid, from 1."""

VIEWS: Final = frozenset({"sysdomains", "sysindexes"})

MARKS: Final = {" GL_COLLATE": 90, " GL_CTYPE": 91, " VERSION": 92}
"""Rows of systables that are not tables (names observed in JDBC's queries; their tabids are assumed)."""

_NAME, _OWNER = "varchar(128)", "char(32)"

_COLUMNS: Final = {
    "systables": f"tabname {_NAME}, owner {_OWNER}, partnum integer, tabid serial, rowsize smallint, ncols smallint,"
    " nindexes smallint, nrows float, created date, version integer, tabtype char(1), locklevel char(1), npused float,"
    f" fextsize integer, nextsize integer, flags smallint, site {_NAME}, dbname {_NAME}, type_xid integer,"
    " am_id integer, pagesize integer, ustlowts datetime, secpolicyid integer, protgranularity char(1),"
    " statlevel char(1), statchange smallint",
    "syscolumns": f"colname {_NAME}, tabid integer, colno smallint, coltype smallint, collength smallint,"
    " colmin integer, colmax integer, extended_id integer, seclabelid integer, colattr smallint",
    "sysindices": f"idxname {_NAME}, owner {_OWNER}, tabid integer, idxtype char(1), clustered char(1),"
    " levels smallint, leaves float, nunique float, clust float, nrows float, indexkeys lvarchar(2048), amid integer,"
    " amparam lvarchar(8192), collation char(32), pagesize integer, nhashcols smallint, nbuckets smallint,"
    " ustlowts datetime",
    "systabauth": f"grantor {_OWNER}, grantee {_OWNER}, tabid integer, tabauth char(9)",
    "syscolauth": f"grantor {_OWNER}, grantee {_OWNER}, tabid integer, colno smallint, colauth char(3)",
    "sysviews": "tabid integer, seqno smallint, viewtext char(256)",
    "sysusers": f"username {_OWNER}, usertype char(1), priority smallint, password char(16), defrole {_OWNER}",
    "sysdepend": "btabid integer, btype char(1), dtabid integer, dtype char(1)",
    "syssynonyms": f"owner {_OWNER}, synname {_NAME}, created date, tabid integer",
    "syssyntable": f"tabid integer, servername {_NAME}, dbname {_NAME}, owner {_OWNER}, tabname {_NAME},"
    " btabid integer",
    "sysconstraints": f"constrid serial, constrname {_NAME}, owner {_OWNER}, tabid integer, constrtype char(1),"
    f" idxname {_NAME}, collation char(32)",
    "sysreferences": "constrid integer, primary integer, ptabid integer, updrule char(1), delrule char(1),"
    " matchtype char(1), pendant char(1)",
    "syschecks": "constrid integer, type char(1), seqno smallint, checktext char(32)",
    "sysdefaults": "tabid integer, colno smallint, type char(1), default char(256), class char(1)",
    "syscoldepend": "constrid integer, tabid integer, colno smallint",
    "sysprocedures": f"procname {_NAME}, owner {_OWNER}, procid serial, mode char(1), retsize integer, symsize integer,"
    f" datasize integer, codesize integer, numargs integer, isproc char(1), specificname {_NAME},"
    " externalname varchar(255), paramstyle char(1), langid integer, paramtypes lvarchar(2048), variant boolean,"
    " client boolean, handlesnulls boolean, iterator boolean, percallcost integer, commutator varchar(128),"
    " negator varchar(128), selfunc varchar(128), selconst float, internal boolean, class char(18),"
    " stack lvarchar(255), parallelizable boolean, costfunc varchar(128), costconst integer, procflags integer,"
    " collation char(32)",
    "sysprocbody": "procid integer, datakey char(1), seqno integer, data char(256)",
    "sysproccolumns": f"procid integer, paramid integer, paramname {_NAME}, paramtype smallint, paramlen smallint,"
    " paramxid integer, paramattr integer",
    "sysprocauth": f"grantor {_OWNER}, grantee {_OWNER}, procid integer, procauth char(1)",
    "sysblobs": f"spacename {_NAME}, type char(1), tabid integer, colno smallint",
    "systriggers": f"trigid serial, trigname {_NAME}, owner {_OWNER}, tabid integer, event char(1), old {_NAME},"
    f" new {_NAME}, mode char(1), collation char(32)",
    "systrigbody": "trigid integer, datakey char(1), seqno integer, data char(256)",
    "sysfragments": f"fragtype char(1), tabid integer, indexname {_NAME}, colno integer, partn integer,"
    f" strategy char(1), location char(1), servername {_NAME}, evalpos integer, exprtext text, exprbin byte,"
    f" exprarr byte, flags integer, dbspace {_NAME}, levels smallint, npused float, nrows float, clust float,"
    f" partition {_NAME}, version smallint, nupdates float, ndeletes float, ninserts float",
    "sysobjstate": f"objtype char(1), owner {_OWNER}, name {_NAME}, tabid integer, state char(1)",
    "sysroleauth": f"rolename {_OWNER}, grantee {_OWNER}, is_grantable char(1)",
    "sysxtdtypes": f"extended_id serial, domain char(1), mode char(1), owner {_OWNER}, name {_NAME}, type smallint,"
    " source integer, maxlen integer, length integer, byvalue char(1), cannothash char(1), align smallint,"
    " locator integer",
    "sysattrtypes": f"extended_id integer, seqno smallint, levelno smallint, parent_no smallint, fieldname {_NAME},"
    " fieldno smallint, type smallint, length smallint, xtd_type_id integer",
    "sysxtddesc": "extended_id integer, seqno smallint, description char(256)",
    "sysxtdtypeauth": f"grantor {_OWNER}, grantee {_OWNER}, type integer, auth char(3)",
    "sysinherits": "child integer, parent integer, class char(1)",
    "syscasts": f"owner {_OWNER}, argument_type smallint, argument_xid integer, result_type smallint,"
    f" result_xid integer, routine_name {_NAME}, routine_owner {_OWNER}, class char(1)",
    "sysaggregates": f"name {_NAME}, owner {_OWNER}, aggid serial, init_func {_NAME}, iter_func {_NAME},"
    f" combine_func {_NAME}, final_func {_NAME}, handlesnulls boolean",
    "syssequences": "seqid serial, tabid integer, start_val int8, inc_val int8, max_val int8, min_val int8,"
    " cycle char(1), restart_val int8, cache integer, order char(1)",
    "sysviolations": "targettid integer, viotid integer, diatid integer, maxrows integer",
    "sysexternal": "tabid integer, fmttype char(1), codeset varchar(128), recdelim varchar(128), flddelim char(4),"
    " datefmt char(8), moneyfmt char(20), maxerrors integer, rejectfile char(464), flags integer, ndfiles integer",
    "sysextdfiles": "tabid integer, dfentry char(469), blobdir char(344), clobdir char(344)",
    "sysindexes": f"idxname {_NAME}, owner {_OWNER}, tabid integer, idxtype char(1), clustered char(1), "
    + "".join(f"part{n} smallint, " for n in range(1, 17))
    + "levels smallint, leaves integer, nunique integer, clust integer",
}

_TYPES: Final = {
    "integer": SqlType(TypeCode.INTEGER, 4),
    "bigint": SqlType(TypeCode.BIGINT, 8),
    "smallint": SqlType(TypeCode.SMALLINT, 2),
    "serial": SqlType(TypeCode.SERIAL, 4),
    "int8": SqlType(TypeCode.INT8, 10),
    "float": SqlType(TypeCode.FLOAT, 8),
    "decimal": SqlType(TypeCode.DECIMAL, 0x10FF),
    "date": SqlType(TypeCode.DATE, 4),
    "datetime": SqlType(TypeCode.DATETIME, datetime_qualifier(Unit.YEAR, Unit.FRACTION, 5).encoded),
    "boolean": boolean(),
    "text": TEXT,
    "byte": BYTE,
}
_COLUMN: Final = re.compile(r"(\w+) (\w+)(?:\((\d+)\))?$")


def _column(text: str) -> ColumnDef:
    found = _COLUMN.match(text.strip())
    assert found, text
    name, kind, size = found.groups()
    if size is None:
        return ColumnDef(name, _TYPES[kind], is_nullable=kind != "serial")
    if kind == "lvarchar":
        return ColumnDef(name, lvarchar(int(size)))
    return ColumnDef(name, SqlType(TypeCode.CHAR if kind == "char" else TypeCode.VARCHAR, int(size)))


def _columns(text: str) -> tuple[ColumnDef, ...]:
    return tuple(_column(part) for part in text.split(",") if part.strip())


@lru_cache(maxsize=16)
def catalog_tables(catalog: str = "main") -> Mapping[str, Table]:
    """The catalog tables of one SQLite schema, by name; cached, since every statement after a definition needs them."""
    return {name: replace(table, catalog=catalog) for name, table in _TABLES.items()}


_TABLES: Final = {
    name: Table(
        tabid,
        name,
        SYSTEM_OWNER,
        _columns(_COLUMNS.get(name, "")),
        TableKind.VIEW if name in VIEWS else TableKind.TABLE,
    )
    for tabid, name in enumerate(NAMES, start=1)
}

EXTENDED_TYPES: Final = (
    # extended_id, mode, name, type, maxlen, length, align (documented: 1, 5, 10, 11; lengths observed for 5, 10, 11;
    # assumed: JSON and BSON)
    (1, "B", "lvarchar", TypeCode.UDTVAR, 32739, 0, 1),
    (5, "B", "boolean", TypeCode.UDTFIXED, 1, 1, 1),
    (10, "B", "blob", TypeCode.UDTFIXED, 72, 72, 4),
    (11, "B", "clob", TypeCode.UDTFIXED, 72, 72, 4),
    (EXTENDED_JSON, "B", "json", TypeCode.UDTVAR, 4096, 0, 1),
    (EXTENDED_BSON, "B", "bson", TypeCode.UDTVAR, 4096, 0, 1),
)

# --- sysmaster --------------------------------------------------------------------------------------------------------

_SYSMASTER_COLUMNS: Final = {
    "sysdual": "dummy char(1)",
    "sysdatabases": f"name {_NAME}, partnum integer, owner {_OWNER}, created date, is_logging integer,"
    " is_buff_log integer, is_ansi integer, is_nls integer, is_case_insens integer, flags smallint",
    "sysdbslocale": f"dbs_dbsname {_NAME}, dbs_collate char(32)",
    "syssessions": "sid integer, username char(32), uid smallint, pid integer, hostname char(256), tty char(16),"
    " connected integer, feprogram char(255), pooladdr integer, is_wlatch integer, is_wlock integer,"
    " is_wbuff integer, is_wckpt integer, is_wlogbuf integer, is_wtrans integer, is_monitor integer,"
    " is_incrit integer, state integer",
    "syslocks": f"dbsname {_NAME}, tabname {_NAME}, rowidlk integer, keynum smallint, type char(4), owner integer,"
    " waiter integer",
    "sysprofile": "name char(13), value integer",
    "systabnames": f"partnum integer, dbsname {_NAME}, owner {_OWNER}, tabname {_NAME}, collate char(32)",
    # Columns of the documented query for temporary tables; the real table has more.
    "sysptnhdr": "partnum integer, flags integer, nkeys smallint, sid integer",
    # Columns that scripts for Informix use (observed: OpenAdmin Tool and others); the real tables have more.
    "syslcktab": "address integer, partnum integer, rowidn integer, rowidr integer, keynum integer, grtime integer,"
    " type integer, owner integer, wtlist integer",
    "systxptab": "address integer, owner integer",
    "sysrstcb": "address integer, sid integer, username char(32), lkwait integer",
    "flags_text": "tabname char(32), flags integer, txt char(50)",
    "sysdbspaces": "dbsnum smallint, name char(128), owner char(32), fchunk smallint, nchunks smallint,"
    " create_size decimal, extend_size decimal, pagesize integer, is_mirrored integer, is_blobspace integer,"
    " is_sbspace integer, is_temp integer, is_encrypted integer, flags smallint",
    "syschunks": "chknum smallint, dbsnum smallint, nxchknum smallint, pagesize integer, chksize integer,"
    " offset integer, nfree integer, mdsize integer, udsize integer, udfree integer, is_offline integer,"
    " is_recovering integer, is_blobchunk integer, is_sbchunk integer, is_inconsistent integer,"
    " is_extendable integer, flags smallint, fname char(256), mfname char(256), moffset integer,"
    " mis_offline integer, mis_recovering integer, mflags smallint",
    "syslogs": "number smallint, uniqid integer, size integer, used integer, is_used integer, is_current integer,"
    " is_backed_up integer, is_new integer, is_archived integer, is_temp integer, flags smallint",
    "sysconfig": "cf_id integer, cf_name char(128), cf_flags integer, cf_original char(256),"
    " cf_effective char(256), cf_default char(256)",
    "sysdri": "type char(50), state char(50), name char(128), intvl integer, timeout integer, lostfound char(256)",
    # Columns observed in scripts for Informix.
    # Columns observed in JDBC's and other clients' queries.
    "sysenv": f"env_id integer, env_name {_NAME}, env_value char(512)",
    "sysopendb": f"odb_sessionid integer, odb_odbno integer, odb_dbname {_NAME}, odb_iscurrent char(1)",
}
_SYSMASTER_FIRST: Final = 100
"""The first tabid of sysmaster's own tables (assumed: their tabids differ from release to release)."""


PAGE_SIZE: Final = 2048
"""Bytes of a page (documented: the default on most systems)."""
ROOT_SPACE: Final = "rootdbs"
"""The only dbspace."""
_GENERATED: Final = {
    "sysdual": "SELECT 'X' AS \"dummy\"",
    # flags: the space has no mirror (documented)
    "sysdbspaces": f"SELECT 1 AS dbsnum, '{ROOT_SPACE}' AS name, '{SYSTEM_OWNER}' AS owner, 1 AS fchunk,"
    f" 1 AS nchunks, NULL AS create_size, NULL AS extend_size, {PAGE_SIZE} AS pagesize, 0 AS is_mirrored,"
    " 0 AS is_blobspace, 0 AS is_sbspace, 0 AS is_temp, 0 AS is_encrypted, 1 AS flags",
}
"""SQLite texts of tables whose rows do not depend on the session."""


SYSMASTER: Final = "sysmaster"


def session_table(name: str) -> str:
    """SQLite's name for one of the SESSION_TABLES."""
    return f'temp."sysmaster_{name}"'


def _made(columns: Mapping[str, str], generated: Mapping[str, str]) -> dict[str, Table]:
    """The tables of a database of the server, by name."""
    return {
        name: Table(
            tabid,
            name,
            SYSTEM_OWNER,
            _columns(text),
            generated=f"({generated[name]})" if name in generated else session_table(name),
            refresh="" if name in generated else name,
        )
        for tabid, (name, text) in enumerate(columns.items(), start=_SYSMASTER_FIRST)
    }


SYSMASTER_TABLES: Final = _made(_SYSMASTER_COLUMNS, _GENERATED)

DATABASE_TABLES: Final[Mapping[str, Mapping[str, Table]]] = {
    SYSMASTER: SYSMASTER_TABLES,
    cdc_tables.SYSCDC: _made(cdc_tables.COLUMNS, cdc_tables.GENERATED),
}
"""By name: the databases of the server, with their own tables."""

SESSION_TABLES: Final = {
    name: table for tables in DATABASE_TABLES.values() for name, table in tables.items() if table.refresh
}
"""Tables that the engine fills before they are read (`plan.Plan.refresh`)."""
