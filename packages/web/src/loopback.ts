const NAMES = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Whether a browser has used another name of its own machine than that of the deployment. It would not send cookies of that name to the
 * page at which a sign-in ends. Behind a proxy, the name in a request may be any.
 */
export function isOtherLoopback(hostname: string, publicUrl: string): boolean {
  const own = new URL(publicUrl).hostname;
  return hostname !== own && [hostname, own].every((name) => NAMES.includes(name));
}
