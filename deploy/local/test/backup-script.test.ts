import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';

const SCRIPT = resolve(import.meta.dirname, '../../docker/backup.sh');

t.test('MongoDB goes on when the terminal of a backup is closed, or the backup ends otherwise', async (t) => {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    const directory = t.testdir({ calls: '' });
    // In place of docker: it records the calls, and the copy takes until the signal.
    writeFileSync(
      join(directory, 'docker'),
      `#!/bin/sh
echo "$@" >> "${directory}/calls"
case $* in
  *' ps '*) echo mongo ;;
  *' run '*) echo copier ;;
  *'cp -r'*) while [ ! -e "${directory}/end" ]; do sleep 0.05; done ;;
esac
`,
    );
    chmodSync(join(directory, 'docker'), 0o755);
    const calls = () => readFileSync(join(directory, 'calls'), 'utf8');
    const env = { PATH: `${directory}:${process.env.PATH}` };
    const child = spawn('sh', [SCRIPT], { env, stdio: 'ignore' });
    await until(() => calls().includes('cp -r'), 10_000);
    child.kill(signal);
    appendFileSync(join(directory, 'end'), '');
    await once(child, 'exit');
    t.match(calls(), /^pause mongo\n(?:.*\n)*unpause mongo\nrm -f copier\n$/m, signal);
  }
});
