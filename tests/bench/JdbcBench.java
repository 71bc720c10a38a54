// What a bench asks of a JDBC driver. A request is one line: workload, shape, rows, repetitions; the answer is one line:
// nanoseconds of wall-clock, nanoseconds of the process's CPU, what was done; or "check" lines, closed by a dot.
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;

public class JdbcBench {
    interface Work { long run() throws SQLException; }

    static final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    static final LocalDate DAY = LocalDate.of(2020, 1, 1);
    static String url;
    static String selectOne;
    static String insert;
    static Connection connection;
    static PreparedStatement one;
    static PreparedStatement put;
    static Object sink;

    // Arguments: URL, the text of SELECT 1, the INSERT into the narrow table, then name and SELECT of each shape.
    public static void main(String[] args) throws Exception {
        Class.forName("com.informix.jdbc.IfxDriver");
        url = args[0];
        selectOne = args[1];
        insert = args[2];
        connection = DriverManager.getConnection(url);
        one = connection.prepareStatement(selectOne);
        put = connection.prepareStatement(insert);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            String[] order = line.split("\t");
            try {
                answer(order[0], select(args, order[1], Integer.parseInt(order[2])), Integer.parseInt(order[2]), Integer.parseInt(order[3]));
            } catch (SQLException e) {
                System.out.println("!" + e.getErrorCode() + " " + e.getMessage());
            }
            System.out.flush();
        }
        connection.close();
    }

    static String select(String[] args, String shape, int rows) {
        for (int i = 3; i < args.length; i += 2)
            if (args[i].equals(shape)) return args[i + 1].replaceFirst("SELECT", "SELECT FIRST " + rows);
        return null;
    }

    static void answer(String workload, String sql, int rows, int repeat) throws SQLException {
        if (workload.equals("check")) {
            show(sql);
            return;
        }
        boolean transaction = workload.equals("many-tx");
        Work work = work(workload, sql, rows);
        connection.setAutoCommit(!transaction);
        long done = 0, wall = System.nanoTime(), cpu = system.getProcessCpuTime();
        for (int i = 0; i < repeat; i++) {
            done += work.run();
            if (transaction) connection.commit();
        }
        wall = System.nanoTime() - wall;
        cpu = system.getProcessCpuTime() - cpu;
        connection.setAutoCommit(true);
        System.out.println(wall + "\t" + cpu + "\t" + done);
    }

    static Work work(String workload, String sql, int rows) throws SQLException {
        switch (workload) {
            case "fetch": return () -> fetch(sql, rows);
            case "stream": return () -> fetch(sql, 0);
            case "select-1": return JdbcBench::selectOne;
            case "insert": return JdbcBench::insertOne;
            case "many":
            case "many-tx": return () -> insertMany(rows);
            case "connect": return JdbcBench::connect;
            default: throw new SQLException("no workload " + workload);
        }
    }

    // Every column as an object; so many rows are kept.
    static long fetch(String sql, int kept) throws SQLException {
        Object[][] table = new Object[kept][];
        long count = 0;
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(sql)) {
            int width = r.getMetaData().getColumnCount();
            while (r.next()) {
                Object[] row = new Object[width];
                for (int i = 0; i < width; i++) row[i] = r.getObject(i + 1);
                if (count < kept) table[(int) count] = row;
                count++;
                sink = row;
            }
        }
        sink = table;
        return count;
    }

    static long selectOne() throws SQLException {
        try (ResultSet r = one.executeQuery()) {
            r.next();
            return r.getInt(1);
        }
    }

    static void bind(int i) throws SQLException {
        put.setInt(1, i);
        put.setLong(2, i * 1000003L);
        put.setString(3, "customer " + i % 9973);
        put.setDouble(4, i / 7.0);
        put.setDate(5, Date.valueOf(DAY.plusDays(i % 2000)));
    }

    static long insertOne() throws SQLException {
        bind(1);
        return put.executeUpdate();
    }

    static long insertMany(int rows) throws SQLException {
        for (int i = 0; i < rows; i++) {
            bind(i);
            put.addBatch();
        }
        return put.executeBatch().length;
    }

    static long connect() throws SQLException {
        DriverManager.getConnection(url).close();
        return 1;
    }

    static void show(String sql) throws SQLException {
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery(sql)) {
            int width = r.getMetaData().getColumnCount();
            while (r.next()) {
                StringBuilder line = new StringBuilder();
                for (int i = 1; i <= width; i++) line.append(i > 1 ? "\t" : "").append(r.getString(i));
                System.out.println(line);
            }
        }
        System.out.println(".");
    }
}
