import { execFile } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { createLogger, type Logger, scrub } from '@gatehouse/core/logger';
import t from 'tap';

const SECRET = 's3cr3t-Value.0123456789';
const JWT = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLXNpZ25hdHVyZQ';
const API_KEY = 'gatehouse_Zm9vYmFyZm9vYmFyZm9vYmFy';
const BASIC = Buffer.from('client:the-secret').toString('base64');
/** What must never be in a line, whatever was logged. */
const NEVER = [SECRET, ...JWT.split('.'), API_KEY.slice(10), BASIC];

function recorder(level?: string): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return {
    logger: createLogger({ name: 'test', ...(level && { level }), readable: false, destination }),
    lines,
  };
}

/** The one line that logging this gives. */
function lineOf(logged: Record<string, unknown>, message = 'message'): string {
  const { logger, lines } = recorder();
  logger.info(logged, message);
  return lines.join('');
}

const json = (value: unknown) => JSON.stringify(value);

const LEAKS: [label: string, logged: Record<string, unknown>, message?: string][] = [
  // By the name of the field.
  ['password', { password: SECRET }],
  ['current_password', { current_password: SECRET }],
  ['new_password', { new_password: SECRET }],
  ['client_secret', { client_secret: SECRET }],
  ['client_assertion', { client_assertion: SECRET }],
  ['token', { token: SECRET }],
  ['access_token', { access_token: SECRET }],
  ['refresh_token', { refresh_token: SECRET }],
  ['id_token', { id_token: SECRET }],
  ['api_key', { api_key: SECRET }],
  ['names as TypeScript has them', { accessToken: SECRET, clientSecret: SECRET, apiKey: SECRET }],
  ['in an object', { request: { body: { password: SECRET } } }],
  ['in an array', { users: [{ name: 'a' }, { password: SECRET }] }],
  ['an array of them', { password: [SECRET] }],
  ['with a quote', { password: `a"${SECRET}` }],
  ['with a backslash at the end', { password: `${SECRET}\\` }],
  ['with a line break', { password: `a\n${SECRET}` }],
  // Headers.
  ['authorization', { headers: { authorization: SECRET } }],
  ['Authorization', { headers: { Authorization: SECRET } }],
  ['cookie', { headers: { cookie: `sid=${SECRET}` } }],
  ['set-cookie', { headers: { 'set-cookie': `sid=${SECRET}; Path=/` } }],
  ['set-cookie, as Node has it', { headers: { 'set-cookie': ['lang=en', `sid=${SECRET}; Path=/`] } }],
  ['raw headers', { rawHeaders: ['Authorization', `Bearer ${SECRET}`] }],
  ['a header in a text', { text: `Authorization: Bearer ${SECRET}` }],
  ['Basic', { text: `authorization: basic ${BASIC}` }],
  ['ApiKey', { text: `ApiKey ${SECRET}` }],
  ['DPoP', { text: `DPoP ${SECRET}` }],
  ['a cookie in a text', { text: `Cookie: sid=${SECRET}; lang=en` }],
  // By the look of the value.
  ['a signed token', { text: `got ${JWT}` }],
  ['a signed token in the message', {}, `got ${JWT}.`],
  ['an API key', { text: API_KEY }],
  ['an API key in a list', { keys: ['a', API_KEY] }],
  // URLs and forms.
  ['a query', { url: `/auth/status?access_token=${SECRET}` }],
  ['the middle of a query', { url: `https://a.example/x?a=b&token=${SECRET}&c=d#e` }],
  ['a code', { url: `/callback?code=${SECRET}&state=1` }],
  ['user information', { uri: `mongodb://user:${SECRET}@db.example:27017/x` }],
  ['user information in the message', {}, `cannot reach nats://${SECRET}@127.0.0.1:4222`],
  ['a form', { body: `grant_type=password&username=a&password=${SECRET}` }],
  ['a form with escapes', { body: `client_secret=%20${SECRET}%26&scope=a` }],
  // JSON in a text.
  ['JSON', { body: json({ a: 1, password: SECRET, b: 2 }) }],
  ['JSON with spaces', { body: JSON.stringify({ password: SECRET }, null, 2) }],
  ['JSON in the message', {}, `body: ${json({ refresh_token: SECRET })}`],
  ['JSON with a quote in the value', { body: json({ password: `a"${SECRET}` }) }],
  ['JSON with a backslash at the end', { body: json({ password: `${SECRET}\\` }) }],
  ['JSON with a list', { body: json({ token: [SECRET] }) }],
  ['JSON in JSON', { body: json({ event: json({ password: SECRET }) }) }],
  // Errors: message, stack, cause, own properties.
  ['an error', { err: new Error(`connect mongodb://user:${SECRET}@db.example failed`) }],
  ['an error with JSON', { err: new Error(`bad body ${json({ password: SECRET })}`) }],
  ['its cause', { err: new Error('outside', { cause: new Error(`Bearer ${SECRET}`) }) }],
  [
    'its properties',
    { err: Object.assign(new Error('x'), { config: { headers: { authorization: SECRET } } }) },
  ],
  ['several errors', { err: new AggregateError([new Error(`password=${SECRET}`)], 'all failed') }],
];

t.test('no secret gets into a line, wherever it was', async (t) => {
  for (const [label, logged, message] of LEAKS) {
    const line = lineOf(logged, message);
    const leaked = NEVER.filter((secret) => line.includes(secret));
    t.strictSame(leaked, [], label, { line });
    t.doesNotThrow(() => JSON.parse(line), `${label}: the line is JSON`);
  }
});

t.test('nor by a child logger, or the values of a format', async (t) => {
  const { logger, lines } = recorder();
  logger.child({ token: SECRET, url: `/x?code=${SECRET}` }).warn('child');
  logger.info('sent %s and %j', `Bearer ${SECRET}`, { password: SECRET });
  t.equal(lines.length, 2);
  t.notMatch(lines.join(''), SECRET);
});

const HARMLESS: [label: string, logged: Record<string, unknown>][] = [
  ['a code of an error', { code: 'ECONNREFUSED', text: 'connect ECONNREFUSED 127.0.0.1:27017' }],
  ['a path', { route: '/v1/users/:id/password', url: '/oauth2/token?grant_type=client_credentials' }],
  ['an id', { id: 'usr_01m7x0szes000fqth9b160xwj7', req_id: 'req_01m7x0szes000fqth9b160xwj7' }],
  ['an address', { uri: 'mongodb://db.example:27017/users', text: 'a@example.com, b@example.com' }],
  ['a URL with an email', { url: 'https://a.example/users?email=a@example.com' }],
  ['words', { text: 'the token has expired; a new password is needed; tokens: 3, cookies: 0' }],
  ['names of schemes', { text: 'Basic authentication is off, Bearer authorization is on' }],
  ['the name of the product', { name: 'gatehouse_users', text: 'gatehouse is up' }],
  ['a dotted name', { text: 'node.js eyJ.a.b 1.2.3' }],
  ['counts', { tokens: 12, token_type: 'Bearer', scopes: ['read:users'] }],
];

t.test('values that are no secrets stay', async (t) => {
  for (const [label, logged] of HARMLESS) t.match(JSON.parse(lineOf(logged)), logged, label);
});

t.test('around a secret all else stays', async (t) => {
  t.equal(scrub('/cb?a=1&code=abc&state=2'), '/cb?a=1&code=[redacted]&state=2');
  t.equal(scrub('mongodb://me:pw@db:1/x?y=z'), 'mongodb://[redacted]@db:1/x?y=z');
  t.equal(scrub('x Bearer abcdefg1 y'), 'x Bearer [redacted] y');
  t.equal(scrub('{"password":"a","b":"c"}'), '{"password":"[redacted]","b":"c"}');
  const line = lineOf({ err: Object.assign(new Error('password=abc for x'), { code: 'E1' }), after: 'kept' });
  t.match(JSON.parse(line), {
    level: 'info',
    name: 'test',
    msg: 'message',
    after: 'kept',
    err: { type: 'Error', message: 'password=[redacted] for x', code: 'E1', stack: /logger\.test\.ts/ },
  });
});

// A caller chooses the path that a line quotes: taking secrets out must not cost more than its length.
const REPEATED = [
  '\\',
  '"',
  ' ',
  'cookie: ',
  'eyJ-',
  'eyJ.',
  'eyJaaaaaaaa.a-',
  '://',
  'Bearer ',
  'token=',
  '"token":"',
  '\\"token\\":\\"',
  'a@',
];

t.test('a long text cannot stop the process', async (t) => {
  for (const part of REPEATED) {
    const line = json({ route: `/${part.repeat(65_536 / part.length)}` });
    const begin = performance.now();
    scrub(line);
    // A few milliseconds, or several seconds when the cost grows with the square of the length.
    t.ok(performance.now() - begin < 1000, `64 KiB of ${part}`);
  }
});

t.test('levels', async (t) => {
  const { logger, lines } = recorder('warn');
  logger.info('below');
  logger.warn('above');
  t.strictSame(
    lines.map((line) => JSON.parse(line)),
    [{ ...JSON.parse(lines[0] ?? '{}'), level: 'warn', name: 'test', msg: 'above' }],
  );
  t.match(JSON.parse(lines[0] ?? '{}'), { time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ });
});

/** What a process writes to its standard output that logs these and ends at once. */
async function outputOf(readable: boolean | undefined): Promise<string> {
  const code = `
    import { createLogger } from ${json(import.meta.resolve('@gatehouse/core/logger'))};
    const logger = createLogger({ name: 'test', readable: ${readable} });
    logger.info({ service: 'users', password: ${json(SECRET)}, port: 3000 }, 'listening');
    logger.info({ method: 'GET', route: '/v1/users', status: 200, ms: 3.5 }, 'request');
    logger.error({ err: new Error('Bearer ${SECRET}') }, 'failed with ${JWT}');
    process.exit();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
  return stdout;
}

t.test('readable lines for people', async (t) => {
  const output = await outputOf(true);
  t.match(output, /\d\d:\d\d:\d\d\.\d{3}.+INFO.+users: listening.+"port":3000/);
  t.match(output, /INFO.+request GET \/v1\/users 200.+\{"ms":3.5\}/);
  t.match(output, /ERROR.+failed with \[redacted\]/);
  for (const secret of NEVER) t.notMatch(output, secret);
});

t.test('JSON lines where nobody reads along, in order and the last one too', async (t) => {
  // More than once, as it depends on how far the process was with its writing.
  const outputs = await Promise.all(Array.from({ length: 6 }, () => outputOf(undefined)));
  for (const output of outputs) {
    const lines = output.trimEnd().split('\n');
    t.match(
      lines.map((line) => JSON.parse(line)),
      [
        { msg: 'listening', port: 3000 },
        { msg: 'request', method: 'GET', route: '/v1/users', status: 200, ms: 3.5 },
        { msg: 'failed with [redacted]', level: 'error' },
      ],
    );
    for (const secret of NEVER) t.notMatch(output, secret);
  }
});

const KILL = "process.kill(process.pid, 'SIGKILL')";
const ENDS: [label: string, level: 'info' | 'warn', end: string][] = [
  ['a warning is written at once', 'warn', KILL],
  ['other lines are written soon', 'info', `setTimeout(() => ${KILL}, 200)`],
  ['what waits is written before the process exits', 'info', 'process.exit()'],
];

t.test('lines of a process that ends suddenly', async (t) => {
  for (const [label, level, end] of ENDS) {
    const code = `
      import { createLogger } from ${json(import.meta.resolve('@gatehouse/core/logger'))};
      const logger = createLogger({ name: 'test', readable: false });
      logger.info('first');
      logger.${level}('second');
      ${end};`;
    const { stdout } = execFile(process.execPath, ['--input-type=module', '-e', code]);
    const output = stdout === null ? '' : await text(stdout);
    t.match(output, /"msg":"first".*\n.*"msg":"second"/, label);
  }
});
