package vertex_emulator;

import java.net.Authenticator;
import java.net.PasswordAuthentication;
import java.net.URI;

/**
 * Leads a Java program through the emulator's proxy, as the variables of its shell lead other programs.
 *
 * <p>Java reads neither https_proxy nor a bundle of authorities. It takes a password for a proxy from an
 * Authenticator only. Options of the command line stay as they are. scripts.emulator_files.java_agent compiles this file.
 */
public final class ProxyAgent extends Authenticator {
  private final URI proxy;

  private ProxyAgent(URI proxy) {
    this.proxy = proxy;
  }

  /** Set up the program before it starts, if its https_proxy is the emulator's. */
  public static void premain(String trustStore) {
    URI proxy = emulatorProxy(System.getenv("https_proxy"));
    if (proxy == null) {
      return;
    }
    setDefault("https.proxyHost", proxy.getHost());
    setDefault("https.proxyPort", String.valueOf(proxy.getPort()));
    setDefault("http.nonProxyHosts", nonProxyHosts(System.getenv("no_proxy")));
    setDefault("jdk.http.auth.tunneling.disabledSchemes", "");
    setDefault("javax.net.ssl.trustStore", trustStore);
    Authenticator.setDefault(new ProxyAgent(proxy));
  }

  private static void setDefault(String name, String value) {
    if (System.getProperty(name) == null) {
      System.setProperty(name, value);
    }
  }

  private static URI emulatorProxy(String text) {
    try {
      URI url = URI.create(text == null ? "" : text);
      String user = url.getUserInfo();
      return user != null && user.startsWith("emulator:") && "127.0.0.1".equals(url.getHost()) ? url : null;
    } catch (IllegalArgumentException error) {
      return null;
    }
  }

  @Override
  protected PasswordAuthentication getPasswordAuthentication() {
    if (getRequestorType() != RequestorType.PROXY
        || !proxy.getHost().equals(getRequestingHost())
        || proxy.getPort() != getRequestingPort()) {
      return null;
    }
    String[] credentials = proxy.getUserInfo().split(":", 2);
    return new PasswordAuthentication(credentials[0], credentials[1].toCharArray());
  }

  /** Return no_proxy in Java's form: a name covers the names below it, and 10.0.0.0/8 is 10.*. */
  static String nonProxyHosts(String noProxy) {
    StringBuilder hosts = new StringBuilder("localhost|127.*|[::1]");
    for (String entry : (noProxy == null ? "" : noProxy).split(",")) {
      String host = entry.trim().replaceFirst("^[*]?[.]", "");
      if (host.matches("[0-9]{1,3}([.][0-9]{1,3}){3}/([0-9]|[12][0-9]|3[0-2])")) {
        addNetwork(hosts, host.split("[./]"));
      } else if (!host.isEmpty() && host.indexOf('/') < 0) {
        hosts.append('|').append(host).append("|*.").append(host);
      }
    }
    return hosts.toString();
  }

  /** Add a network of IPv4, whose parts are four numbers and the length of the prefix. */
  private static void addNetwork(StringBuilder hosts, String[] numbers) {
    int fixed = Integer.parseInt(numbers[4]);
    int last = Math.max(0, (fixed - 1) / 8);
    int count = 1 << (last * 8 + 8 - fixed);
    StringBuilder start = new StringBuilder();
    for (int index = 0; index < last; index++) {
      start.append(numbers[index]).append('.');
    }
    int first = Integer.parseInt(numbers[last]);
    for (int number = first; number < Math.min(256, first + count); number++) {
      hosts.append('|').append(start).append(number).append(last < 3 ? ".*" : "");
    }
  }
}
