import com.github.scribejava.core.builder.ServiceBuilder;
import com.github.scribejava.core.builder.api.DefaultApi20;
import com.github.scribejava.core.model.*;
import com.github.scribejava.core.oauth.AccessTokenRequestParams;
import java.util.Scanner;

class ScribeClient {
  static final String ISSUER = System.getenv("ISSUER");

  static class Gatehouse extends DefaultApi20 {
    public String getAccessTokenEndpoint() {
      return ISSUER + "/oauth2/token";
    }

    protected String getAuthorizationBaseUrl() {
      return ISSUER + "/oauth2/authorize";
    }
  }

  public static void main(String[] args) throws Exception {
    var service = new ServiceBuilder(System.getenv("CLIENT_ID")).apiSecret(System.getenv("CLIENT_SECRET"))
        .callback(System.getenv("HOME_URL") + "/callback").defaultScope("openid email").build(new Gatehouse());
    var url = service.createAuthorizationUrlBuilder().state("the-state").initPKCE();
    System.out.println("visit " + url.build());
    var code = service.extractAuthorization(new Scanner(System.in).nextLine()).getCode();
    var parameters = AccessTokenRequestParams.create(code).pkceCodeVerifier(url.getPkce().getCodeVerifier());
    var request = new OAuthRequest(Verb.GET, ISSUER + "/userinfo");
    service.signRequest(service.getAccessToken(parameters), request);
    var info = service.execute(request).getBody();
    System.out.println("sub " + info.replaceAll(".*\"sub\":\"([^\"]+)\".*", "$1"));
  }
}
