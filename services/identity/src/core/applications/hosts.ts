const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a URL is of the computer on which it is used. */
export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.has(hostname);

/** Whether a URL is on the host of a deployment; on a loopback address, of which there are several names, at its port. */
export function isOnHostOf(issuer: URL, url: URL): boolean {
  if (isLoopback(issuer) && isLoopback(url)) return url.port === issuer.port;
  return url.hostname === issuer.hostname;
}
