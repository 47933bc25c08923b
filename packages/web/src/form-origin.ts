/**
 * Whether the headers of a form show that it came from a page of another origin than `origin`. `Origin: null` does not show that: browsers
 * send it from our own pages, whose Referrer-Policy is no-referrer (Fetch §3.2, "append a request Origin header"). Most also send
 * Sec-Fetch-Site (Fetch Metadata §2.3), which no site can choose; `none` is a form that was sent again from the history.
 */
export function isFromOtherOrigin(headers: { get(name: string): string }, origin: string): boolean {
  const [site, sender] = [headers.get('sec-fetch-site'), headers.get('origin')];
  return !['', 'same-origin', 'none'].includes(site) || !['', 'null', origin].includes(sender);
}
