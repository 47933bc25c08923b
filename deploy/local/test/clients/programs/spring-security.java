import java.net.URI;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.web.bind.annotation.*;

@EnableAutoConfiguration
@RestController
public class SpringClient {
  @GetMapping("/")
  public String home(@AuthenticationPrincipal OidcUser user) {
    return user.getSubject();
  }

  public static void main(String[] args) {
    var env = System.getenv();
    var home = env.get("HOME_URL");
    var prefix = "spring.security.oauth2.client.";
    var application = new SpringApplication(SpringClient.class);
    application.setDefaultProperties(Map.of(
        "server.port", URI.create(home).getPort(),
        prefix + "provider.gatehouse.issuer-uri", env.get("ISSUER"),
        prefix + "registration.gatehouse.client-id", env.get("CLIENT_ID"),
        prefix + "registration.gatehouse.client-secret", env.get("CLIENT_SECRET"),
        prefix + "registration.gatehouse.scope", "openid, email"));
    application.addListeners((ApplicationListener<ApplicationReadyEvent>) it -> System.out.println("\nopen " + home));
    application.run();
  }
}
