/** The page of the dashboard to go on to after a sign-in: a path on this site and no other address. */
export function returnPath(given: unknown): string {
  const home = '/dashboard';
  if (typeof given !== 'string' || given.length > 2000 || !given.startsWith(home)) return home;
  // As a browser would resolve it; the host is never ours.
  const url = URL.parse(given, 'http://dashboard.invalid');
  const isOwn = url?.host === 'dashboard.invalid' && /^\/dashboard(?:\/|$)/.test(url.pathname);
  if (url === null || !isOwn || /^\/dashboard\/sign(?:-in|-out|ed-in|ed-out)$/.test(url.pathname))
    return home;
  return url.pathname + url.search;
}
