// Large objects through every way that java.sql has: values of a known pattern go in, sizes and checksums come out.
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.Reader;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;

public class LargeObjects {
    static byte[] bytes(int size) {
        byte[] data = new byte[size];
        for (int i = 0; i < size; i++) data[i] = (byte) (i * 7 + i / 251);
        return data;
    }

    static String text(int size) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < size; i++) text.append((char) ('a' + (i * 7 + i / 251) % 26));
        return text.toString();
    }

    static void set(PreparedStatement s, int i, String kind, int size) throws Exception {
        switch (kind) {
            case "bytes": s.setBytes(i, bytes(size)); break;
            case "stream": s.setBinaryStream(i, new ByteArrayInputStream(bytes(size)), size); break;
            case "blob": {
                Blob blob = s.getConnection().createBlob();
                blob.setBytes(1, bytes(size));
                s.setBlob(i, blob);
                break;
            }
            case "truncated": {
                Blob blob = s.getConnection().createBlob();
                blob.setBytes(1, bytes(size));
                blob.truncate(3);
                s.setBlob(i, blob);
                break;
            }
            case "clob": {
                Clob clob = s.getConnection().createClob();
                clob.setString(1, text(size));
                s.setClob(i, clob);
                break;
            }
            case "text": s.setString(i, text(size)); break;
            case "chars": s.setCharacterStream(i, new StringReader(text(size)), size); break;
            case "ascii": s.setAsciiStream(i, new ByteArrayInputStream(text(size).getBytes(StandardCharsets.US_ASCII)), size); break;
            default: throw new IllegalArgumentException(kind);
        }
    }

    // One row; each column is read in the way that is named for it.
    static List<String> row(ResultSet r, List<String> ways) throws Exception {
        List<String> fields = new ArrayList<>(List.of("="));
        for (int i = 1; i <= ways.size(); i++) fields.add(value(r, i, ways.get(i - 1)));
        return fields;
    }

    static String value(ResultSet r, int i, String way) throws Exception {
        switch (way) {
            case "int": return r.getString(i);
            case "bytes": return sum(r.getBytes(i));
            case "string": return sum(r.getString(i));
            case "stream": {
                try (InputStream in = r.getBinaryStream(i)) { return in == null ? null : sum(in.readAllBytes()); }
            }
            case "blob": {
                Blob blob = r.getBlob(i);
                return blob == null ? null : blob.length() + "/" + sum(blob.getBytes(1, (int) blob.length()));
            }
            case "truncate": {
                Blob blob = r.getBlob(i);
                blob.truncate(2);
                return blob.length() + "/" + sum(blob.getBytes(1, (int) blob.length()));
            }
            case "part": {
                Blob blob = r.getBlob(i);
                return sum(blob.getBytes(3, 5));
            }
            case "clob": {
                Clob clob = r.getClob(i);
                return clob == null ? null : clob.length() + "/" + sum(clob.getSubString(1, (int) clob.length()));
            }
            case "chars": {
                try (Reader in = r.getCharacterStream(i)) {
                    if (in == null) return null;
                    StringBuilder text = new StringBuilder();
                    char[] block = new char[8192];
                    for (int n; (n = in.read(block)) > 0; ) text.append(block, 0, n);
                    return sum(text.toString());
                }
            }
            default: throw new IllegalArgumentException(way);
        }
    }

    static String sum(String text) {
        return text == null ? null : sum(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    static String sum(byte[] data) {
        if (data == null) return null;
        CRC32 crc = new CRC32();
        crc.update(data);
        return data.length + ":" + crc.getValue();
    }
}
