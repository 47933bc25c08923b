import { isLoopback } from '@gatehouse/core/web-uris';

/** Whether a URL is on the host of a deployment; on a loopback address, of which there are several names, at its port. */
export function isOnHostOf(issuer: URL, url: URL): boolean {
  if (isLoopback(issuer) && isLoopback(url)) return url.port === issuer.port;
  return url.hostname === issuer.hostname;
}
