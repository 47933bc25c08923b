/** An application as its examples need it. */
export type Sample = {
  base: string;
  clientId: string;
  redirectUri: string;
  scope: string;
  /** A secret or an API key that has just been created, to be put into the code; else the code reads it from the environment. */
  secret?: string;
  /** A secret that has just been created, for the file of the variables that the code reads. */
  secretInFile?: string;
};

/** Where an application on the developer's own machine listens, so that the redirect URI leads to it, and its origin. */
export function listeningAt(redirectUri: string): { host: string; port: string; origin: string } {
  const { hostname, port, origin } = URL.parse(redirectUri) ?? { hostname: '', port: '', origin: '' };
  return { host: hostname === '127.0.0.1' ? hostname : 'localhost', port: port || '3000', origin };
}

/** A program that uses an application, with what to do to run it. */
export type Snippet = { id: string; title: string; steps: readonly string[]; code(sample: Sample): Code };

/** Code in which every value is quoted; only the templates below make it. `grammar` names its highlighting. */
export class Code {
  readonly text: string;
  readonly grammar: string;
  constructor(text: string, grammar = '') {
    this.text = text;
    this.grammar = grammar;
  }
}

/** A template for code of a language. Values are put in as literals of the language, and other code as it is. */
const language =
  (grammar: string, literal: (value: string) => string = JSON.stringify) =>
  (strings: TemplateStringsArray, ...values: (string | Code)[]): Code => {
    const texts = values.map((value) => (value instanceof Code ? value.text : literal(value)));
    return new Code(strings.map((text, at) => text + (texts[at] ?? '')).join(''), grammar);
  };

/** For a POSIX shell, in which nothing is special between single quotes. */
export const sh = language('sh', (value) => `'${value.replaceAll("'", "'\\''")}'`);
export const js = language('js', (value) => `'${JSON.stringify(value).slice(1, -1).replaceAll("'", "\\'")}'`);
/** All that is escaped in JSON is escaped in the same way in Python, Go and Java, and YAML takes strings of JSON. */
export const python = language('python');
export const go = language('go');
export const java = language('java');
export const yaml = language('yaml');

/** Code inside other code, whose first line is already indented by this many spaces. */
export function indented({ text, grammar }: Code, spaces: number): Code {
  return new Code(text.replaceAll('\n', `\n${' '.repeat(spaces)}`), grammar);
}

const FROM_ENVIRONMENT = {
  sh: '"$CLIENT_SECRET"',
  js: 'process.env.CLIENT_SECRET',
  python: 'os.environ["CLIENT_SECRET"]',
  go: 'os.Getenv("CLIENT_SECRET")',
  java: 'System.getenv("CLIENT_SECRET")',
};
const LITERALS = { sh, js, python, go, java };

/** The secret in a program: as a literal, or as what reads it from the environment. */
export function secretIn(name: keyof typeof LITERALS, secret: string | undefined): Code {
  return secret === undefined ? new Code(FROM_ENVIRONMENT[name]) : LITERALS[name]`${secret}`;
}

/** The beginning of a program with openid-client, of an application that has a secret or none. */
export function discovery(sample: Sample, hasSecret = true): Code {
  const { base, clientId } = sample;
  const secret = hasSecret ? secretIn('js', sample.secret) : js`undefined`;
  const authentication = hasSecret ? js`undefined` : js`client.None()`;
  // Without TLS, as on a developer's own machine, openid-client has to allow insecure requests.
  const insecure = js`,\n  ${authentication}, { execute: [client.allowInsecureRequests] }`;
  const secure = hasSecret ? js`` : js`, ${authentication}`;
  return js`const config = await client.discovery(
  new URL(${base}), ${clientId}, ${secret}${base.startsWith('http:') ? insecure : secure});`;
}

/** The steps that programs need unless their secret is filled in. */
export const SET_VARIABLES: readonly string[] = [
  'Save the variables as .env.',
  'Run: set -a; . ./.env; set +a',
];

/** The step of a program that is one block of commands. */
export const PASTE = 'Paste the commands below into a terminal. They need Node.js 20.6 or newer.';

/** The beginning of a step that is a command. */
export const RUN = 'Run: ';

/** Programs that have a secret, by their tools. */
export const CURL = { id: 'curl', title: 'curl', steps: SET_VARIABLES };
const NODE = ['Save the code as first-request.mjs.', ...SET_VARIABLES, 'Run: node first-request.mjs'];
export const FETCH = { id: 'fetch', title: 'Node.js with fetch', steps: NODE };
export const PYTHON = {
  id: 'python',
  title: 'Python',
  steps: ['Save the code as first_request.py.', ...SET_VARIABLES, 'Run: python3 first_request.py'],
};
export const GO = {
  id: 'go',
  title: 'Go',
  steps: ['Save the code as main.go.', ...SET_VARIABLES, 'Run: go run main.go'],
};
export const JAVA = {
  id: 'java',
  title: 'Java',
  steps: ['Save the code as FirstRequest.java.', ...SET_VARIABLES, 'Run: java FirstRequest.java'],
};
export const OPENID_CLIENT = {
  id: 'openid-client',
  title: 'Node.js with openid-client',
  steps: ['Run: npm install openid-client', ...NODE],
};
