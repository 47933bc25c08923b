import com.google.api.client.auth.oauth2.*;
import com.google.api.client.auth.openidconnect.IdTokenResponse;
import com.google.api.client.http.*;
import com.google.api.client.http.javanet.NetHttpTransport;
import com.google.api.client.json.gson.GsonFactory;
import java.util.*;

class GoogleClient {
  public static void main(String[] args) throws Exception {
    var env = System.getenv();
    var credentials = new BasicAuthentication(env.get("CLIENT_ID"), env.get("CLIENT_SECRET"));
    var token = new GenericUrl(env.get("ISSUER") + "/oauth2/token");
    var flow = new AuthorizationCodeFlow.Builder(BearerToken.authorizationHeaderAccessMethod(),
        new NetHttpTransport(), new GsonFactory(), token, credentials, env.get("CLIENT_ID"),
        env.get("ISSUER") + "/oauth2/authorize").setScopes(List.of("openid", "email")).enablePKCE().build();
    var callback = env.get("HOME_URL") + "/callback";
    System.out.println("visit " + flow.newAuthorizationUrl().setRedirectUri(callback).setState("the-state").build());
    var response = new AuthorizationCodeResponseUrl(new Scanner(System.in).nextLine());
    var request = flow.newTokenRequest(response.getCode()).setRedirectUri(callback);
    var idToken = IdTokenResponse.execute(request).parseIdToken();
    System.out.println("sub " + idToken.getPayload().getSubject());
  }
}
