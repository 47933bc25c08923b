/** An application as its examples need it. */
export type Sample = { base: string; clientId: string; redirectUri: string; scope: string };
/** A program that uses an application, with what to do before it is run. */
export type Snippet = { id: string; title: string; before: string; code(sample: Sample): Code };

/** Code in which every value is quoted; only the templates below make it. */
export class Code {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A template for code of a language. Values are put in as literals of the language, and other code as it is. */
const language =
  (literal: (value: string) => string) =>
  (strings: TemplateStringsArray, ...values: (string | Code)[]): Code => {
    const texts = values.map((value) => (value instanceof Code ? value.text : literal(value)));
    return new Code(strings.map((text, at) => text + (texts[at] ?? '')).join(''));
  };

/** For a POSIX shell, in which nothing is special between single quotes. */
export const sh = language((value) => `'${value.replaceAll("'", "'\\''")}'`);
export const js = language((value) => `'${JSON.stringify(value).slice(1, -1).replaceAll("'", "\\'")}'`);
/** All that is escaped in JSON is escaped in the same way in Python, Go and Java. */
export const python = language((value) => JSON.stringify(value));
export const [go, java] = [python, python];

/** The beginning of a program with openid-client, of an application that has a secret or none. */
export function discovery({ base, clientId }: Sample, hasSecret = true): Code {
  const secret = hasSecret ? js`process.env.CLIENT_SECRET` : js`undefined`;
  const authentication = hasSecret ? js`undefined` : js`client.None()`;
  // Without TLS, as on a developer's own machine, openid-client has to allow insecure requests.
  const insecure = js`,\n  ${authentication}, { execute: [client.allowInsecureRequests] }`;
  const secure = hasSecret ? js`` : js`, ${authentication}`;
  return js`const config = await client.discovery(
  new URL(${base}), ${clientId}, ${secret}${base.startsWith('http:') ? insecure : secure});`;
}

const SECRET = 'ut the client secret into the environment variable CLIENT_SECRET first.';

/** The instructions for a program that has a secret, by its tools. */
export const CURL = { id: 'curl', title: 'curl', before: `P${SECRET}` };
export const FETCH = { id: 'fetch', title: 'JavaScript with fetch', before: `P${SECRET}` };
export const PYTHON = { id: 'python', title: 'Python', before: `P${SECRET}` };
export const GO = {
  id: 'go',
  title: 'Go',
  before: `Save it as main.go, and p${SECRET} Then run: go run main.go`,
};
export const JAVA = {
  id: 'java',
  title: 'Java',
  before: `Save it as FirstRequest.java, and p${SECRET} Then run: java FirstRequest.java`,
};
export const OPENID_CLIENT = {
  id: 'openid-client',
  title: 'Node.js with openid-client',
  before: `npm install openid-client, and p${SECRET}`,
};
