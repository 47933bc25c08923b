import com.nimbusds.jose.jwk.JWK;
import java.util.List;
import java.util.Map;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.oauth2.client.*;
import org.springframework.security.oauth2.client.endpoint.*;
import org.springframework.security.oauth2.client.registration.*;
import org.springframework.security.oauth2.core.*;
import org.springframework.security.oauth2.jwt.*;
import org.springframework.util.LinkedMultiValueMap;

/** An API that calls another one for the person whose token it got, as Spring Security does it. Prints the token, or the error. */
class TokenExchange {
  private static final Map<String, String> ENV = System.getenv();

  public static void main(String[] args) throws Exception {
    var issuer = ENV.get("ISSUER");
    var subject = decoder(issuer, ENV.get("OWN_API"), ENV.get("SENDER")).decode(ENV.get("SUBJECT_TOKEN"));
    var person = UsernamePasswordAuthenticationToken.authenticated(subject, null, List.of());
    var registration = registration(issuer);
    var registrations = new InMemoryClientRegistrationRepository(registration);
    var clients = new InMemoryOAuth2AuthorizedClientService(registrations);
    var manager = new AuthorizedClientServiceOAuth2AuthorizedClientManager(registrations, clients);
    manager.setAuthorizedClientProvider(provider());
    var request = OAuth2AuthorizeRequest.withClientRegistrationId("gatehouse").principal(person).build();
    try {
      var token = manager.authorize(request).getAccessToken();
      var decoded = decoder(issuer, ENV.get("TARGET_API"), registration.getClientId()).decode(token.getTokenValue());
      if (!decoded.getSubject().equals(subject.getSubject())) throw new Exception("another person");
      System.out.println("token " + token.getTokenValue());
      System.out.println("scope " + String.join(" ", token.getScopes()));
    } catch (ClientAuthorizationException error) {
      System.out.println("error " + error.getError().getErrorCode());
    }
  }

  private static ClientRegistration registration(String issuer) {
    var isSecret = ENV.containsKey("CLIENT_SECRET");
    return ClientRegistrations.fromIssuerLocation(issuer).registrationId("gatehouse")
        .clientId(ENV.get("CLIENT_ID"))
        .clientSecret(ENV.get("CLIENT_SECRET"))
        .clientAuthenticationMethod(
            isSecret ? ClientAuthenticationMethod.CLIENT_SECRET_BASIC : ClientAuthenticationMethod.PRIVATE_KEY_JWT)
        .authorizationGrantType(AuthorizationGrantType.TOKEN_EXCHANGE)
        .scope(ENV.get("SCOPE").split(" "))
        .build();
  }

  private static OAuth2AuthorizedClientProvider provider() {
    var client = new RestClientTokenExchangeTokenResponseClient();
    client.addParametersConverter(
        it -> new LinkedMultiValueMap<>(Map.of("resource", List.of(ENV.get("TARGET_API")))));
    if (ENV.containsKey("CLIENT_KEY"))
      client.addParametersConverter(new NimbusJwtClientAuthenticationParametersConverter<>(it -> privateKey()));
    var provider = new TokenExchangeOAuth2AuthorizedClientProvider();
    provider.setAccessTokenResponseClient(client);
    return provider;
  }

  private static JWK privateKey() {
    try {
      return JWK.parse(ENV.get("CLIENT_KEY"));
    } catch (java.text.ParseException error) {
      throw new IllegalArgumentException("CLIENT_KEY is no JWK", error);
    }
  }

  /** Accepts the access tokens of RFC 9068 for an API that this client has. */
  private static JwtDecoder decoder(String issuer, String audience, String clientId) {
    var decoder = NimbusJwtDecoder.withIssuerLocation(issuer).validateType(false).build();
    decoder.setJwtValidator(
        JwtValidators.createAtJwtValidator().issuer(issuer).audience(audience).clientId(clientId).build());
    return decoder;
  }
}
