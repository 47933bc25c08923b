import { type DestinationStream, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import { traceFields } from './tracing.ts';

export type { Logger } from 'pino';

const REDACTED = '[redacted]';

/** Names whose values are secrets, in an object, a URL's query or a form. */
const SECRET_NAMES = [
  '(?:current|new)?_?password',
  'client_?secret',
  'client_?assertion',
  '(?:access|refresh|id)?_?token',
  'api_?key',
  'master_?key',
  'authorization',
  '(?:set-)?cookie',
].join('|');

const STRING = '"(?:[^"\\\\]|\\\\.)*"';
const LIST = `\\[(?:[^\\]"]|${STRING})*\\]`;

/**
 * The values that are removed from a finished line, by the name of the field or by the look of the value. Callers choose the
 * paths that lines quote, so each pattern must take time in proportion to the line's length.
 */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`"(${SECRET_NAMES})":(?:${STRING}|${LIST})`, 'gi'), `"$1":"${REDACTED}"`],
  // Inside a text that contains JSON, with backslashes before quotes, the end of the value is hard to find: the rest of the text is removed
  // with it.
  [
    new RegExp(`(?<!\\\\)\\\\+"(${SECRET_NAMES})\\\\+"\\s*:(?:[^"\\\\]|\\\\.)*`, 'gi'),
    `\\"$1\\":${REDACTED}`,
  ],
  [new RegExp(`\\b(${SECRET_NAMES}|code)=[^&\\s"\\\\]+`, 'gi'), `$1=${REDACTED}`],
  [/\b((?:set-)?cookie): [^"\\]+/gi, `$1: ${REDACTED}`],
  // Three base64url parts that begin with a JSON object: a signed token, access or ID.
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, REDACTED],
  [/\bgatehouse_[A-Za-z0-9_-]{16,}/g, REDACTED],
  // A word in small letters only is no credential: "Bearer authorization".
  [/\b([Bb]earer|[Bb]asic|[Aa]pi[Kk]ey|DPoP) +(?=[a-z]*[A-Z0-9_~+/=-])[\w.~+/=-]{8,}/g, `$1 ${REDACTED}`],
  [/(:\/\/)[^\s/@"\\]+@/g, `$1${REDACTED}@`],
];

/** Matches every text that one of the patterns above matches; most lines have nothing of it. */
const SUSPICIOUS =
  /password|secret|assertion|token|key|authorization|cookie|code=|eyJ|gatehouse_|bearer|basic|dpop|:\/\//i;

/** Replaces everything in a text that looks like a credential. */
export function scrub(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  let result = text;
  for (const [pattern, replacement] of SECRETS) result = result.replace(pattern, replacement);
  return result;
}

/**
 * A logger that writes one JSON object per line, or lines for people in a terminal. Secrets are removed from the
 * finished line, so that no call site can forget to.
 */
export function createLogger(options: {
  name: string;
  level?: string;
  /** Lines for people instead of JSON; the default when standard output is a terminal. */
  readable?: boolean;
  destination?: DestinationStream;
  /** Whether lines carry the id of their trace. */
  traced?: boolean;
}): Logger {
  const readable = options.readable ?? process.stdout.isTTY === true;
  const destination =
    options.destination ??
    (readable
      ? pretty({
          sync: true,
          singleLine: true,
          translateTime: 'HH:MM:ss.l',
          ignore: 'pid,hostname,name,service,method,route,status',
          messageFormat: '{if service}{service}: {end}{msg}{if method} {method} {route} {status}{end}',
        })
      : createLogOutput());
  return pino(
    {
      name: options.name,
      level: options.level ?? 'info',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err },
      hooks: { streamWrite: scrub },
      ...(options.traced === true ? { mixin: traceFields } : {}),
    },
    destination,
  );
}

/** How long a line below the level `warn` may wait to be written, in milliseconds. */
const MAX_DELAY_MS = 20;
/** Lines that wait are written once they have this many characters. */
const MAX_WAITING_LENGTH = 4096;
/** The number of pino's level `warn`. */
const WARN = 40;

/**
 * Standard output for log lines, which writes several at once: a write of its own for each line would cost more CPU
 * than everything else about it. Lines of the level `warn` and above are written immediately, together with those that
 * wait, and all are written before the process exits. Only a process that is killed can lose lines, the last 20 ms.
 */
function createLogOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting !== '') output.write(waiting);
    waiting = '';
  }
  process.on('exit', flush);
  const destination = {
    // Makes pino set `lastLevel` before each write.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      waiting += line;
      if (destination.lastLevel >= WARN || waiting.length >= MAX_WAITING_LENGTH) flush();
      else timer ??= setTimeout(flush, MAX_DELAY_MS).unref();
    },
  };
  return destination;
}
