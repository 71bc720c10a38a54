// Answers the PAM challenges of a login from a list that the test sets. "-" refuses, as a user who cancels a dialogue does.
import com.informix.jdbcx.IfxPAMChallenge;
import com.informix.jdbcx.IfxPAMResponse;
import com.informix.jdbcx.PAM;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

public class PamAnswers implements PAM {
    static final ArrayDeque<String> answers = new ArrayDeque<>();
    static final List<String> asked = new ArrayList<>();

    static void prepare(List<String> given) {
        answers.clear();
        answers.addAll(given);
        asked.clear();
    }

    @Override
    public IfxPAMResponse pamChallenge(IfxPAMChallenge challenge) {
        asked.add(challenge.getChallengeType() + " " + challenge.getChallenge());
        boolean isQuestion = challenge.getChallengeType() < 3;
        String answer = isQuestion ? answers.poll() : "";
        try {
            IfxPAMResponse response = (IfxPAMResponse) Class.forName("com.informix.jdbcx.PAMResponseImpl").getConstructor().newInstance();
            response.setResponse(answer);
            response.setResponseType((short) challenge.getChallengeType());
            response.setTerminateConnection("-".equals(answer));
            return response;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
