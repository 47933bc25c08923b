import com.nimbusds.oauth2.sdk.*;
import com.nimbusds.oauth2.sdk.auth.*;
import com.nimbusds.oauth2.sdk.id.*;
import com.nimbusds.oauth2.sdk.pkce.*;
import com.nimbusds.openid.connect.sdk.*;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import java.net.URI;
import java.util.Scanner;

class NimbusClient {
  public static void main(String[] args) throws Exception {
    var env = System.getenv();
    var metadata = OIDCProviderMetadata.resolve(new Issuer(env.get("ISSUER")));
    var id = new ClientID(env.get("CLIENT_ID"));
    var secret = new Secret(env.get("CLIENT_SECRET"));
    var callback = new URI(env.get("HOME_URL") + "/callback");
    var verifier = new CodeVerifier();
    var state = new State();
    var nonce = new Nonce();
    var request = new AuthenticationRequest.Builder(ResponseType.CODE, new Scope("openid", "email"), id, callback)
        .endpointURI(metadata.getAuthorizationEndpointURI())
        .state(state).nonce(nonce).codeChallenge(verifier, CodeChallengeMethod.S256).build();
    System.out.println("visit " + request.toURI());
    var response = AuthenticationResponseParser.parse(new URI(new Scanner(System.in).nextLine())).toSuccessResponse();
    if (!response.getState().equals(state)) throw new Exception("another state");
    var grant = new AuthorizationCodeGrant(response.getAuthorizationCode(), callback, verifier);
    var exchange = new TokenRequest.Builder(metadata.getTokenEndpointURI(), new ClientSecretBasic(id, secret), grant);
    var tokens = OIDCTokenResponseParser.parse(exchange.build().toHTTPRequest().send()).toSuccessResponse();
    var idToken = ((OIDCTokenResponse) tokens).getOIDCTokens().getIDToken();
    var algorithm = com.nimbusds.jose.JWSAlgorithm.RS256;
    var validator = new IDTokenValidator(metadata.getIssuer(), id, algorithm, metadata.getJWKSetURI().toURL());
    System.out.println("sub " + validator.validate(idToken, nonce).getSubject());
  }
}
