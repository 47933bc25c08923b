import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LaunchSpec, ProviderError } from './provider.ts';
import { startError } from './start-error.ts';

const OP_MSG = 2013;

// Recovery after a crash replays the journal first.
const READY_LIMIT_MS = 60_000;
const POLL_MS = 5;
const PING_LIMIT_MS = 1_000;
const STOP_LIMIT_MS = 10_000;
const LOG_LIMIT_BYTES = 16 * 1024 * 1024;

/** A running database process that accepts connections at its socket. */
export type DatabaseProcess = {
  pid: number | undefined;
  socketPath: string;
  /** Resolves when the process has ended, with the reason: 'exit status 1', 'SIGKILL'. */
  ended: Promise<string>;
  /** Closes the database; kills it after 10 s. */
  stop(): Promise<void>;
};

type SpawnedProcess = {
  /** The pid of the database, not of its guard; undefined until the process has reported it. */
  pid: number | undefined;
  ended: Promise<string>;
  endedBy: string | undefined;
  terminate(): void;
  kill(): void;
};

/**
 * Starts the process and waits until it responds at a socket in `socketDirectory`.
 * @throws ProviderError when it ends, does not respond within a minute, or the signal aborts the wait; DataLockedError when
 * another process has the data open
 */
export async function startDatabaseProcess(
  launch: LaunchSpec,
  place: { dataDirectory: string; socketDirectory: string },
  signal: AbortSignal,
): Promise<DatabaseProcess> {
  const { dataDirectory, socketDirectory } = place;
  // A unique name, since mongod removes an existing file at its socket's path, even if it then fails to start.
  const socketPath = join(socketDirectory, `${randomBytes(4).toString('hex')}.sock`);
  const logFile = `${dataDirectory}.log`;
  const log = await openLog(logFile);
  const { size: logStart } = await log.stat();
  const spawned = spawnDatabase(launch, socketPath, log.fd);
  await log.close();

  const giveUpAt = performance.now() + READY_LIMIT_MS;
  while (!(await respondsToPing(socketPath, PING_LIMIT_MS))) {
    const { endedBy } = spawned;
    if (endedBy) throw await startError({ kind: launch.kind, endedBy, dataDirectory, logFile, logStart });
    if (signal.aborted || performance.now() > giveUpAt) {
      spawned.kill();
      await spawned.ended;
      throw new ProviderError(`The ${launch.kind} did not answer within a minute (more in ${logFile}).`);
    }
    await sleep(POLL_MS);
  }

  return {
    get pid() {
      return spawned.pid;
    },
    socketPath,
    ended: spawned.ended,
    async stop() {
      spawned.terminate();
      const timer = setTimeout(spawned.kill, STOP_LIMIT_MS);
      await spawned.ended;
      clearTimeout(timer);
    },
  };
}

async function openLog(path: string): Promise<FileHandle> {
  const log = await open(path, 'a', 0o600);
  const { size } = await log.stat();
  if (size > LOG_LIMIT_BYTES) await log.truncate();
  return log;
}

function spawnDatabase(launch: LaunchSpec, socketPath: string, log: number): SpawnedProcess {
  const [program, ...args] = launch.command(socketPath);
  // In its own process group it does not receive the terminal's Ctrl-C. Nothing is written to its stdin: when the pipe
  // closes, the database knows that this process has ended, even by kill -9.
  const child = spawn(program, args, {
    cwd: dirname(socketPath),
    env: launch.env,
    stdio: ['pipe', 'pipe', log],
    detached: true,
  });
  child.stdin?.on('error', () => {});
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    spawned.pid ??= Number.parseInt(text, 10);
  });
  const spawned: SpawnedProcess = {
    pid: undefined,
    endedBy: undefined,
    ended: new Promise((resolve) => {
      const end = (by: string) => {
        spawned.endedBy = by;
        resolve(by);
      };
      child.once('exit', (status, by) => end(by ?? `exit status ${status}`));
      child.once('error', (error) => end(error.message));
    }),
    terminate() {
      child.kill('SIGTERM');
    },
    kill() {
      // The whole group: if only the guard is killed, the database outlives it for a moment.
      if (child.pid && !spawned.endedBy) process.kill(-child.pid, 'SIGKILL');
    },
  };
  return spawned;
}

/**
 * The command {ping: 1} on the database admin in the wire protocol (OP_MSG: a header of four integers, flag bits, and a
 * body section, which is a BSON document).
 */
function pingMessage(): Buffer {
  const fields = Buffer.concat([
    Buffer.from('\x10ping\0\x01\0\0\0', 'latin1'),
    Buffer.from('\x02$db\0\x06\0\0\0admin\0', 'latin1'),
    Buffer.from([0]),
  ]);
  const message = Buffer.alloc(16 + 4 + 1 + 4 + fields.length);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(OP_MSG, 12);
  message.writeInt32LE(4 + fields.length, 21);
  fields.copy(message, 25);
  return message;
}

/** Whether a MongoDB server responds at the Unix socket within the time. */
function respondsToPing(socketPath: string, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const settle = (responded: boolean) => {
      socket.destroy();
      resolve(responded);
    };
    socket.setTimeout(limitMs, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
    socket.once('connect', () => socket.write(pingMessage()));
    socket.once('data', () => settle(true));
  });
}
