// The embedded engine in /data/db, on the port of MongoDB: relays connections to its socket until SIGTERM.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import process from 'node:process';

const cwd = mkdtempSync(`${tmpdir()}/engine-`);
const socket = `${cwd}/engine.sock`;
const host = [`${import.meta.dirname}/engine-host.mjs`, '/data/db', 'engine.sock'];
const engine = spawn(process.execPath, host, {
  cwd,
  env: { ...process.env, TMPDIR: '.' },
  stdio: ['pipe', 'inherit', 'inherit'],
});
engine.on('exit', (status) => process.exit(status ?? 1));
process.on('SIGTERM', () => engine.kill('SIGTERM'));

const relay = createServer((client) => {
  const upstream = connect(socket);
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ]) {
    from.pipe(to);
    from.on('error', () => to.destroy());
  }
});
const starting = setInterval(() => {
  if (!existsSync(socket)) return;
  clearInterval(starting);
  relay.listen(27017, '0.0.0.0', () => process.stdout.write('Waiting for connections\n'));
}, 20);
