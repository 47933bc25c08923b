import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { createIntegrationStates, type Integration } from '../../src/integrations/integration.ts';

// The time limit of a check keeps no process alive.
const alive = setInterval(() => {}, 1000);
t.teardown(() => clearInterval(alive));

const email = { id: 'email', kind: 'email', name: 'SMTP' } as const;

t.test('an integration is unconfigured, works, fails, or hangs', async (t) => {
  const integrations: Integration[] = [
    { ...email, id: 'none' },
    { ...email, id: 'ok', check: async () => 'fine' },
    { ...email, id: 'fails', check: () => Promise.reject(new Error('smtp://user:secret@host')) },
    {
      ...email,
      id: 'throws',
      check: () => {
        throw new Error('secret');
      },
    },
    {
      ...{ ...email, id: 'explains', check: () => Promise.reject(new Error('secret')) },
      explain: () => 'The server refuses our credentials.',
    },
    { ...email, id: 'hangs', check: () => new Promise(() => {}) },
  ];
  const states = await createIntegrationStates(integrations, { timeoutMs: 50 })();
  t.match(states, [
    { id: 'none', configured: false, status: 'unconfigured', checkedAt: null },
    { id: 'ok', configured: true, status: 'ok', checkedAt: Date },
    { id: 'fails', status: 'error', message: 'It cannot be used at the moment.' },
    { id: 'throws', status: 'error', message: 'It cannot be used at the moment.' },
    { id: 'explains', status: 'error', message: 'The server refuses our credentials.' },
    { id: 'hangs', status: 'error', message: 'It does not answer in time.' },
  ]);
  t.notMatch(JSON.stringify(states), /secret/);
});

t.test('each is checked once for all who ask, and again after 30 seconds', async (t) => {
  let now = 0;
  let checks = 0;
  let works = true;
  const check = async () => {
    checks += 1;
    await sleep(5);
    if (!works) throw new Error('down');
  };
  const states = createIntegrationStates([{ ...email, check }], { now: () => now });
  await Promise.all([states(), states(), states()]);
  await states();
  t.equal(checks, 1);
  works = false;
  now = 29_999;
  t.match(await states(), [{ status: 'ok', checkedAt: new Date(0) }]);
  now = 30_001;
  t.match(await states(), [{ status: 'error', checkedAt: new Date(30_001) }]);
  t.equal(checks, 2);
});
