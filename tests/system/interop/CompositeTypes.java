// Rows, collections and documents as Java objects: collections and BSON go in, text of getObject's results comes out.
import com.informix.jdbc.IfxBSONObject;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Struct;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.TreeSet;

public class CompositeTypes {
    static void set(PreparedStatement s, int i, String kind, String v) throws SQLException {
        List<String> texts = v.isEmpty() ? List.of() : Arrays.asList(v.split(","));
        List<Integer> numbers = new ArrayList<>();
        if (kind.endsWith("ints")) for (String text : texts) numbers.add(Integer.parseInt(text));
        switch (kind) {
            case "set of ints": s.setObject(i, new HashSet<Object>(numbers)); break;
            case "list of ints": s.setObject(i, new ArrayList<Object>(numbers)); break;
            case "list of strings": s.setObject(i, new ArrayList<Object>(texts)); break;
            case "bson": s.setObject(i, new IfxBSONObject("text", v)); break;
            default: throw new IllegalArgumentException(kind);
        }
    }

    static List<String> row(ResultSet r) throws Exception {
        List<String> fields = new ArrayList<>(List.of("="));
        for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) {
            String text;
            try {
                text = shown(r.getObject(i));
            } catch (SQLException e) {
                text = "SQLException";
            }
            fields.add(text);
        }
        return fields;
    }

    static String shown(Object value) throws Exception {
        if (value == null) return null;
        if (value instanceof Struct) return "Struct" + Arrays.toString(((Struct) value).getAttributes());
        if (value instanceof HashSet) return "HashSet" + new TreeSet<Object>((Collection<?>) value);
        return value.getClass().getSimpleName() + " " + value;
    }
}
