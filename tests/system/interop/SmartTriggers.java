// Reads events of push data with IBM's driver, one line for each: URL, what to do, and the number of events to read.
import com.informix.smartTrigger.IfmxSmartTriggerCallback;
import com.informix.smartTrigger.IfxSmartTrigger;

public class SmartTriggers {
    public static void main(String[] arguments) throws Exception {
        String url = arguments[0], mode = arguments[1];
        IfxSmartTrigger trigger = new IfxSmartTrigger(url);
        trigger.label("session").timeout(5).maxRecordsPerRequest(1);
        if (mode.equals("detach")) {
            trigger.detachable(true);
        }
        if (mode.startsWith("join:")) {
            trigger.sessionID(mode.substring(5));
        } else {
            IfmxSmartTriggerCallback[] callbacks = {json -> System.out.println("called " + json)};
            trigger.addTrigger("orders", "informix", "demo", "SELECT id, qty FROM orders WHERE qty > 10", "big", callbacks);
        }
        trigger.open();
        trigger.registerTriggers();
        System.out.println("ready");
        for (int left = Integer.parseInt(arguments[2]); left > 0; left--) {
            System.out.println(trigger.readTriggerEvent());
        }
        if (mode.equals("detach")) {
            System.out.println(trigger.detach());
        }
        trigger.close();
        System.out.println("closed");
    }
}
