// Reads the changes of one table by the driver's engine for change data capture: a line for each record.
// Arguments: port, server, table as database:owner.name, records to read, columns.
import com.informix.jdbc.IfmxTableDescriptor;
import com.informix.jdbc.stream.api.StreamRecord;
import com.informix.jdbc.stream.cdc.CDCEngine;
import com.informix.jdbc.stream.cdc.records.CDCOperationRecord;
import com.informix.jdbc.types.ReadableType;
import com.informix.jdbcx.IfxDataSource;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

public class Changes {
    public static void main(String[] given) throws Exception {
        IfxDataSource source = new IfxDataSource();
        source.setIfxIFXHOST("127.0.0.1");
        source.setPortNumber(Integer.parseInt(given[0]));
        source.setServerName(given[1]);
        source.setDatabaseName("syscdcv1");
        source.setUser("informix");
        source.setPassword("secret");
        source.setIfxDB_LOCALE("en_US.819");
        String[] name = given[2].split("[:.]");
        String[] columns = Arrays.copyOfRange(given, 4, given.length);
        CDCEngine engine =
            CDCEngine.builder(source)
                .watchTable(new IfmxTableDescriptor(name[0], name[1], name[2]), columns)
                .timeout(1)
                .buffer(8192)
                .build();
        engine.init();
        System.out.println("ready");
        for (int left = Integer.parseInt(given[3]); left > 0; left--) {
            System.out.println(text(engine.getRecord()));
        }
        engine.close();
        System.out.println("closed");
    }

    static String text(StreamRecord record) throws Exception {
        String data = "";
        if (record.hasOperationData()) {
            TreeMap<String, String> values = new TreeMap<>();
            for (Map.Entry<String, ReadableType> each : ((CDCOperationRecord) record).getData().entrySet()) {
                values.put(each.getKey(), String.valueOf(each.getValue().toObject()));
            }
            data = values.toString();
        }
        return String.join(
            "\t", record.getType().toString(), String.valueOf(record.getTransactionId()), String.valueOf(record.getLabel()), data);
    }
}
