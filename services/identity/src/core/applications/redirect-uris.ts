import { isIP } from 'node:net';
import { isLoopback, uriProblem } from '@gatehouse/core/web-uris';
import { isPublicHost } from '@gatehouse/outbound/public-address';
import type { ApplicationType } from './application.ts';

export const MAX_REDIRECT_URIS = 20;

type OfApplication = { type: ApplicationType; legacyImplicit: boolean };

/** The problem of a redirect URI or post-logout redirect URI, as the end of a sentence. RFC 6749 §3.1.2, RFC 8252 §7, RFC 9700 §2.1. */
export function redirectUriProblem(uri: string, application: OfApplication): string | undefined {
  const url = URL.parse(uri);
  const problem = uriProblem(uri, url);
  if (problem !== undefined || url === null) return problem;
  const loopback = isLoopback(url);
  const native = application.type === 'native';
  switch (url.protocol) {
    case 'https:':
      if (native && loopback) return 'must use http for a loopback address (RFC 8252 §7.3)';
      if (application.legacyImplicit && url.hostname === 'localhost') {
        return 'must not be on localhost for the implicit flow';
      }
      return undefined;
    case 'http:':
      if (!loopback) return 'must use https. http is allowed for 127.0.0.1, [::1] and localhost only';
      return application.legacyImplicit ? 'must use https for the implicit flow' : undefined;
    default:
      if (!native) return 'must use https';
      return isPrivateUse(url.protocol.slice(0, -1), uri)
        ? undefined
        : 'must use https, or a private-use scheme, best a domain name in reverse, such as com.example.app:/callback';
  }
}

/**
 * Schemes without a period that do not lead to one program: a browser or the operating system acts on the URI itself, a server gets
 * a request, or any website can register for them (`registerProtocolHandler` of HTML).
 */
const NOT_PRIVATE = new Set(
  `about afp app appx bitcoin blob cid content dat data dav davs dict did dns dweb ethereum facetime feed file filesystem ftp ftps geo git gopher
  help hyper im imap intent ipfs ipld ipns irc ircs jar jdbc ldap ldaps lightning magnet mailto market matrix message mid mms mmsto
  news nfs nntp onion openpgp4fpr payto pop res resource rlogin rtmp rtsp search sftp shell shortcuts sip sips sms smsto smb ssb ssh
  svn tel telnet tftp urn vnc view-source webcal webcals ws wss wtai xmpp`.split(/\s+/),
);
const NOT_PRIVATE_PARTS =
  /http|script|^(?:web\+|(?:android|brave|chrome|devtools|edge|firefox|itms|moz|ms|opera|safari|search|x)(?:-|$))/;

/**
 * Whether a URI has a private-use scheme of a program (RFC 8252 §7.1). A name without a period, which programs such as editors have,
 * is one if a name follows it as in example-app://callback: §8.4 says SHOULD, and people are asked at each sign-in.
 */
function isPrivateUse(scheme: string, uri: string): boolean {
  if (scheme.includes('.')) return isReverseDomain(scheme) && /^[^:]+:\/./.test(uri);
  const isOwn = !NOT_PRIVATE.has(scheme) && !NOT_PRIVATE_PARTS.test(scheme);
  return isOwn && /^[a-z][a-z\d+-]{2,}:\/\/[^/?]/.test(uri);
}

/** Countries have two letters. Of the others, those that no application is called by: com.example.app is a good name. */
const TOP_LEVEL = /^(?:[a-z]{2}|com|org|net|edu|gov|mil|int|info|biz)$/;

/**
 * Whether a scheme is a domain name in reverse order (RFC 8252 §7.1): it begins with a top-level domain and does not end with one.
 * Names such as accounts.example.com are those of websites, which no program on a device may pass for.
 */
function isReverseDomain(scheme: string): boolean {
  const labels = scheme.split('.');
  const isTop = (label = '') => TOP_LEVEL.test(label);
  return labels.every((label) => /^[a-z\d+-]+$/.test(label)) && isTop(labels[0]) && !isTop(labels.at(-1));
}

/**
 * The origins of redirect URIs, from which the application's pages may be served. Private-use schemes have none: `null` is sent by
 * any sandboxed frame (RFC 6454 §7.3).
 */
export function originsOf(uris: readonly string[]): string[] {
  return uris.flatMap((uri) => URL.parse(uri)?.origin ?? []).filter((origin) => origin !== 'null');
}

/** The host and port of a website; undefined for a private-use scheme: what follows that names none, whatever it looks like. */
export function hostOf(uri: string | undefined): string | undefined {
  const url = URL.parse(uri ?? '');
  return url !== null && /^https?:$/.test(url.protocol) ? url.host : undefined;
}

/** The problem of a URI that we call. The addresses of its host are checked when we connect (packages/outbound). */
export function logoutUriProblem(uri: string): string | undefined {
  const url = URL.parse(uri);
  const problem = uriProblem(uri, url);
  if (problem !== undefined || url === null) return problem;
  if (url.protocol !== 'https:' || isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) {
    return 'must use https and a host name';
  }
  return isPublicHost(url.hostname) ? undefined : 'must have a public host name';
}
