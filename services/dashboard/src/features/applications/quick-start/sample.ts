/** An application as its examples need it. */
export type Sample = { base: string; clientId: string; redirectUri: string; scope: string };
export type Snippet = { id: string; title: string; before: string; code: Code };

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
/** All that is escaped in JSON is escaped in the same way in Python. */
export const python = language((value) => JSON.stringify(value));

/** Without TLS, as on a developer's own machine, openid-client has to be told so. */
export const insecure = ({ base }: Sample): Code =>
  base.startsWith('http:') ? js`,\n  undefined, { execute: [client.allowInsecureRequests] }` : js``;

export const SECRET = 'Put the client secret into the environment variable CLIENT_SECRET first.';
