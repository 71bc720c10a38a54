// A line-oriented shell around java.sql, so that the tests of another language can drive a JDBC driver as a black box.
//
// A request is one line of fields separated by tabs; the answer is some lines and a closing line with a single dot.
// Tabs, newlines and backslashes inside a field are written \t \n \\, and NULL is \N.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.BatchUpdateException;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

public class JdbcShell {
    static final Map<String, Connection> connections = new HashMap<>();
    static final Map<String, PreparedStatement> statements = new HashMap<>();
    static final Map<String, Savepoint> savepoints = new HashMap<>();
    static final Map<String, ResultSet> results = new HashMap<>();
    static final Map<String, Statement> running = new HashMap<>();
    static final Map<String, FutureTask<String>> outcomes = new HashMap<>();
    static PrintStream out;

    public static void main(String[] args) throws Exception {
        out = new PrintStream(System.out, false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Class.forName("com.informix.jdbc.IfxDriver");
        String line;
        while ((line = in.readLine()) != null) {
            List<String> fields = new ArrayList<>();
            for (String field : line.split("\t", -1)) fields.add(unescape(field));
            try {
                run(fields);
            } catch (BatchUpdateException e) {
                int[] counts = e.getUpdateCounts();
                List<String> row = new ArrayList<>(List.of("!batch", "" + e.getErrorCode(), "" + e.getSQLState()));
                if (counts != null) for (int count : counts) row.add("" + count);
                print(row);
            } catch (SQLException e) {
                print(List.of(e instanceof SQLTimeoutException ? "!timeout" : "!error", "" + e.getErrorCode(), "" + e.getSQLState(), "" + e.getMessage()));
            } catch (Exception e) {
                print(List.of("!defect", e.toString()));
            }
            out.println(".");
            out.flush();
        }
        for (Connection connection : connections.values()) connection.close();
    }

    // The values of parameters after a call; each is given as its number, a colon and the name of its type.
    static void outs(CallableStatement statement, List<String> parameters) throws Exception {
        List<String> values = new ArrayList<>();
        for (String parameter : parameters) {
            String[] parts = parameter.split(":");
            statement.registerOutParameter(Integer.parseInt(parts[0]), java.sql.JDBCType.valueOf(parts[1]).getVendorTypeNumber());
        }
        statement.execute();
        for (String parameter : parameters) values.add(statement.getString(Integer.parseInt(parameter.split(":")[0])));
        print(values);
    }

    static void run(List<String> f) throws Exception {
        String verb = f.get(0);
        String name = f.get(1);
        switch (verb) {
            case "connect": connections.put(name, DriverManager.getConnection(f.get(2))); break;
            case "pam": PamAnswers.prepare(f.subList(2, f.size())); break;
            case "asked": for (String question : PamAnswers.asked) print(List.of(question)); break;
            case "close": connections.remove(name).close(); break;
            case "role": print(List.of(((com.informix.jdbc.IfmxConnection) connections.get(name)).getHDRType())); break;
            case "valid": print(List.of("" + connections.get(name).isValid(5))); break;
            case "autocommit": connections.get(name).setAutoCommit(Boolean.parseBoolean(f.get(2))); break;
            case "commit": connections.get(name).commit(); break;
            case "rollback": connections.get(name).rollback(); break;
            case "savepoint": savepoints.put(f.get(2), connections.get(name).setSavepoint(f.get(2))); break;
            case "back": connections.get(name).rollback(savepoints.get(f.get(2))); break;
            case "forget": connections.get(name).releaseSavepoint(savepoints.get(f.get(2))); break;
            case "isolation": connections.get(name).setTransactionIsolation(Integer.parseInt(f.get(2))); break;
            case "version": print(List.of(connections.get(name).getMetaData().getDatabaseProductVersion())); break;
            case "tables": rows(connections.get(name).getMetaData().getTables(null, null, f.get(2), null)); break;
            case "columns": rows(connections.get(name).getMetaData().getColumns(null, null, f.get(2), null)); break;
            case "keys": rows(connections.get(name).getMetaData().getPrimaryKeys(null, null, f.get(2))); break;
            case "procedures": rows(connections.get(name).getMetaData().getProcedures(null, null, f.get(2))); break;
            case "procedure columns":
                rows(connections.get(name).getMetaData().getProcedureColumns(null, null, f.get(2), null));
                break;
            case "update":
                try (Statement s = connections.get(name).createStatement()) { print(List.of("" + s.executeUpdate(f.get(2)))); }
                break;
            case "execute":
                try (Statement s = connections.get(name).createStatement()) { print(List.of("" + s.execute(f.get(2)))); }
                break;
            case "query":
                try (Statement s = connections.get(name).createStatement(); ResultSet r = s.executeQuery(f.get(2))) { rows(r); }
                break;
            case "scroll":
                try (Statement s = connections.get(name).createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
                        ResultSet r = s.executeQuery(f.get(2))) {
                    for (String move : f.subList(3, f.size())) {
                        boolean on = move.equals("first") ? r.first() : move.equals("last") ? r.last() : move.equals("previous")
                                ? r.previous() : move.equals("next") ? r.next() : r.absolute(Integer.parseInt(move));
                        print(List.of(move, on ? r.getString(1) : "off"));
                    }
                }
                break;
            case "open":
                Statement held = connections.get(name).createStatement();
                results.put(f.get(2), held.executeQuery(f.get(3)));
                break;
            case "next": print(List.of(results.get(name).next() ? results.get(name).getString(1) : "off")); break;
            case "prepare": statements.put(f.get(2), connections.get(name).prepareStatement(f.get(3))); break;
            case "call": statements.put(f.get(2), connections.get(name).prepareCall(f.get(3))); break;
            case "set": set(statements.get(name), Integer.parseInt(f.get(2)), f.get(3), f.size() > 4 ? f.get(4) : null); break;
            case "run": print(List.of("" + statements.get(name).executeUpdate())); break;
            case "select": try (ResultSet r = statements.get(name).executeQuery()) { rows(r); } break;
            case "outs": outs((CallableStatement) statements.get(name), f.subList(2, f.size())); break;
            case "large":
                try (Statement s = connections.get(name).createStatement(); ResultSet r = s.executeQuery(f.get(2))) {
                    while (r.next()) print(LargeObjects.row(r, f.subList(3, f.size())));
                }
                break;
            case "objects":
                try (Statement s = connections.get(name).createStatement(); ResultSet r = s.executeQuery(f.get(2))) {
                    while (r.next()) print(CompositeTypes.row(r));
                }
                break;
            case "types": rows(connections.get(name).getMetaData().getUDTs(null, null, f.get(2), null)); break;
            case "attributes": rows(connections.get(name).getMetaData().getAttributes(null, null, f.get(2), null)); break;
            case "add": statements.get(name).addBatch(); break;
            case "batch": {
                List<String> counts = new ArrayList<>();
                for (int count : statements.get(name).executeBatch()) counts.add("" + count);
                print(counts);
                break;
            }
            case "start": start(connections.get(name), f.get(2), Integer.parseInt(f.get(3)), f.get(4)); break;
            case "cancel": running.get(name).cancel(); break;
            case "finish": print(List.of(finished(name))); break;
            case "release": statements.remove(name).close(); break;
            default: throw new IllegalArgumentException(verb);
        }
    }

    // Run a statement in a thread of its own, under a name; 0 seconds for no time-out.
    static void start(Connection connection, String name, int seconds, String sql) throws SQLException {
        Statement statement = connection.createStatement();
        statement.setQueryTimeout(seconds);
        FutureTask<String> outcome = new FutureTask<>(() -> {
            if (!statement.execute(sql)) return "" + statement.getUpdateCount();
            try (ResultSet r = statement.getResultSet()) { return r.next() ? r.getString(1) : "off"; }
        });
        running.put(name, statement);
        outcomes.put(name, outcome);
        new Thread(outcome).start();
    }

    // The statement stays open, so that it can still be cancelled; it goes with its connection.
    static String finished(String name) throws Exception {
        try {
            return outcomes.remove(name).get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException) throw (SQLException) e.getCause();
            throw e;
        }
    }

    static void set(PreparedStatement s, int i, String kind, String v) throws Exception {
        switch (kind) {
            case "null": s.setNull(i, Integer.parseInt(v)); break;
            case "short": s.setShort(i, Short.parseShort(v)); break;
            case "int": s.setInt(i, Integer.parseInt(v)); break;
            case "long": s.setLong(i, Long.parseLong(v)); break;
            case "float": s.setFloat(i, Float.parseFloat(v)); break;
            case "double": s.setDouble(i, Double.parseDouble(v)); break;
            case "decimal": s.setBigDecimal(i, new BigDecimal(v)); break;
            case "string": s.setString(i, v); break;
            case "boolean": s.setBoolean(i, Boolean.parseBoolean(v)); break;
            case "date": s.setDate(i, java.sql.Date.valueOf(v)); break;
            case "time": s.setTime(i, java.sql.Time.valueOf(v)); break;
            case "timestamp": s.setTimestamp(i, java.sql.Timestamp.valueOf(v)); break;
            case "set of ints": case "list of ints": case "list of strings": case "bson":
                CompositeTypes.set(s, i, kind, v);
                break;
            default: LargeObjects.set(s, i, kind, Integer.parseInt(v));
        }
    }

    static void rows(ResultSet r) throws SQLException {
        ResultSetMetaData m = r.getMetaData();
        List<String> names = new ArrayList<>(List.of("#"));
        for (int i = 1; i <= m.getColumnCount(); i++) names.add(m.getColumnName(i) + ":" + m.getColumnTypeName(i));
        print(names);
        while (r.next()) {
            List<String> row = new ArrayList<>(List.of("="));
            for (int i = 1; i <= m.getColumnCount(); i++) row.add(r.getString(i));
            print(row);
        }
    }

    static void print(List<String> fields) {
        StringBuilder line = new StringBuilder();
        for (String field : fields) {
            if (line.length() > 0) line.append('\t');
            line.append(field == null ? "\\N" : field.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n"));
        }
        out.println(line);
    }

    static String unescape(String field) {
        if (field.equals("\\N")) return null;
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            if (c != '\\') { text.append(c); continue; }
            c = field.charAt(++i);
            text.append(c == 't' ? '\t' : c == 'n' ? '\n' : c);
        }
        return text.toString();
    }
}
