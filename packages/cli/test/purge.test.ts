import { createServer } from 'node:http';
import { PassThrough } from 'node:stream';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';
import { run } from '../src/program.ts';

const stream = () => Object.assign(new PassThrough(), { isTTY: true });

t.test('jobs purge asks first, and names what will be lost', async (t) => {
  const requests: string[] = [];
  const server = createServer(({ method, url }, response) => {
    if (method === 'DELETE') requests.push(String(url));
    response.setHeader('content-type', 'application/json').end('{"removed":1}');
  });
  const env = {
    GATEHOUSE_URL: `http://127.0.0.1:${await listen(t, server)}`,
    GATEHOUSE_TOKEN: 'token',
    XDG_CONFIG_HOME: t.testdir(),
  };
  const lane = ['--queue', 'messages', '--lane', 'email'];
  const cases: [args: string[], typed: string, question: string, requests: string[]][] = [
    [['ntf_a-1', 'ntf_b-1'], 'n', 'Remove the dead letters ntf_a-1, ntf_b-1 for good? [y/N] ', []],
    [lane, '', 'Remove all dead letters of messages email for good? [y/N] ', []],
    [lane.slice(0, 2), 'n', 'Remove all dead letters of messages (all lanes) for good? [y/N] ', []],
    [lane, 'y', '[y/N] ', ['/api/v1/dead-letters?queue=messages&lane=email']],
    [[...lane, '--yes'], '', '', ['/api/v1/dead-letters?queue=messages&lane=email']],
  ];
  for (const [args, typed, question, expected] of cases) {
    requests.length = 0;
    const terminal = { stdin: stream(), stdout: stream(), stderr: stream() };
    terminal.stdin.end(`${typed}\n`);
    const status = await run(['jobs', 'purge', ...args], { env, platform: process.platform, ...terminal });
    t.equal(status, expected.length > 0 ? 0 : 1);
    t.match(String(terminal.stderr.read() ?? ''), question);
    t.same(requests, expected, args.join(' '));
  }
});
