import { createInterface } from 'node:readline';

export const { ISSUER, HOME_URL, CLIENT_ID, CLIENT_SECRET, MACHINE_ID, MACHINE_SECRET } = process.env;
export const REDIRECT_URI = `${HOME_URL}/callback`;
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();

/** Writes a line of the protocol in programs.nightly.test.ts. */
export function say(word, value) {
  process.stdout.write(`${word} ${value}\n`);
}

/** Where the browser comes back to after the authorization request. */
export async function visit(url) {
  say('visit', url);
  return new URL((await lines.next()).value);
}

/** The `sub` of the user info. */
export async function subject(token) {
  const headers = { authorization: `Bearer ${token}` };
  return (await (await fetch(`${ISSUER}/userinfo`, { headers })).json()).sub;
}

/** Listens with a web application, and says so. */
export function serve(application, path = '/') {
  application.listen(Number(new URL(HOME_URL).port), '127.0.0.1', () => say('open', HOME_URL + path));
}
