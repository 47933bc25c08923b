import t from 'tap';
import { runJobsCommand, USAGE } from '../src/jobs-command.ts';

const called: string[] = [];
const run = (...args: string[]) =>
  runJobsCommand(args, async (method, path) => {
    called.push(`${method} ${path}`);
    return [];
  });

t.test('a wrong command is reported with the usage, before the sign-in', async (t) => {
  const wrong: [args: string[], problem: string][] = [
    [['frobnicate'], 'There is no command frobnicate.'],
    [['constructor'], 'There is no command constructor.'],
    [['show'], 'show needs the ID of a dead letter.'],
    [['replay'], 'replay needs an ID or --all.'],
    [['pause', 'messages'], 'pause needs a QUEUE and a LANE.'],
    [['list', '--json'], 'list has no option --json.'],
    [['purge', '--all'], 'purge has no option --all.'],
    [['replay', 'ntf_a-1', '--all'], 'replay has no option --all.'],
    [['replay', '--all', 'ntf_a-1'], 'replay does not take ntf_a-1 as well.'],
    [['show', 'ntf_a-1', 'ntf_b-1'], 'show does not take ntf_b-1 as well.'],
    [['purge', 'messages', 'email', 'sms'], 'purge does not take sms as well.'],
  ];
  for (const [args, problem] of wrong) {
    await t.rejects(run(...args), { name: 'StartError', message: `${problem}\n\n${USAGE.trimEnd()}` });
  }
  t.same(called, []);
});

t.test('help is shown wherever it is asked for', async (t) => {
  for (const args of [['help'], ['--help'], ['-h'], ['show', '--help'], ['purge', '-h']]) {
    t.equal(await run(...args), USAGE, args.join(' '));
  }
  t.same(called, []);
  for (const name of ['GATEHOUSE_URL', 'GATEHOUSE_TOKEN']) t.match(USAGE, name);
});
