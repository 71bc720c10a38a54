// What tests/bench/large_objects.py asks of a JDBC driver. Arguments: URL, values of 1 MB. It prints three numbers: MB
// written and MB read for each second of the process's CPU time, and rows with a short TEXT.
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
            write(connection, values); // compiles what is measured
            read(connection);
            notes(connection);
            long begin = system.getProcessCpuTime();
            write(connection, values);
            long written = system.getProcessCpuTime();
            long size = read(connection);
            long read = system.getProcessCpuTime();
            long rows = notes(connection);
            long end = system.getProcessCpuTime();
            System.out.println(values * 1e3 * VALUE.length / (written - begin) + " " + size * 1e3 / (read - written)
                + " " + rows * 1e9 / (end - read));
        }
    }

    static void write(Connection connection, int values) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("insert into large values(?, ?, ?)")) {
            for (int i = 0; i < values; i++) {
                insert.setInt(1, i);
                insert.setBytes(2, VALUE);
                insert.setString(3, null);
                insert.executeUpdate();
            }
        }
    }

    static long read(Connection connection) throws SQLException {
        long size = 0;
        try (Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery("select photo from large where note is null")) {
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
