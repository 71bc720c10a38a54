// What tests/bench/large_objects.py asks of a JDBC driver. Arguments: URL, values of 1 MB. For each second of the
// process's CPU time it prints: MB written and MB read as BYTE, the same as BLOB, and rows with a short TEXT.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

public class JdbcLarge {
    static final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    static final byte[] VALUE = new byte[1 << 20];

    public static void main(String[] args) throws Exception {
        Class.forName("com.informix.jdbc.IfxDriver");
        int values = Integer.parseInt(args[1]);
        try (Connection connection = DriverManager.getConnection(args[0])) {
            for (String table : new String[] {"large", "album"}) {
                write(connection, table, values); // compiles what is measured
                read(connection, table);
                long begin = system.getProcessCpuTime();
                write(connection, table, values);
                long written = system.getProcessCpuTime();
                long size = read(connection, table);
                long end = system.getProcessCpuTime();
                System.out.print(values * 1e3 * VALUE.length / (written - begin) + " " + size * 1e3 / (end - written) + " ");
            }
            notes(connection);
            long begin = system.getProcessCpuTime();
            long rows = notes(connection);
            System.out.println(rows * 1e9 / (system.getProcessCpuTime() - begin));
        }
    }

    static void write(Connection connection, String table, int values) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("insert into " + table + "(id, photo) values(?, ?)")) {
            for (int i = 0; i < values; i++) {
                insert.setInt(1, i);
                insert.setBytes(2, VALUE);
                insert.executeUpdate();
            }
        }
    }

    static long read(Connection connection, String table) throws SQLException {
        long size = 0;
        try (Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery("select photo from " + table + " where photo is not null")) {
            while (rows.next()) size += rows.getBytes(1).length;
        }
        return size;
    }

    static long notes(Connection connection) throws SQLException {
        long count = 0;
        try (Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery("select id, note from large where note is not null")) {
            while (rows.next()) if (rows.getString(2).length() == 100) count++;
        }
        return count;
    }
}
