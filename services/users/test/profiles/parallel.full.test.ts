import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { build, PASSWORD as password } from '../build.ts';

// The work is a thousand password hashes, or a part of it.
t.setTimeout(120_000);

const { call, machine, pinned } = await build(t);
const pinnedToG = await pinned({ v1_users: 'G' });

/** Different spellings of one text, equal as usernames and addresses are compared. */
const spell = (text: string, i: number) =>
  [text, text.toUpperCase(), text[0]?.toUpperCase() + text.slice(1)][i % 3];

/** Whether the connection was lost; whatever else goes wrong is a failure of the test. */
function isReset(error: unknown): boolean {
  const { cause } = Object(error) as { cause?: { code?: string } };
  return cause?.code === 'ECONNRESET' || cause?.code === 'UND_ERR_SOCKET';
}

t.test('many parallel creations in all profiles, with fewer names and addresses', async (t) => {
  const requests = Array.from({ length: repetitions(1000) }, (_, i) => {
    const n = i % 120;
    const username = spell(`par.user${n}`, i);
    const email = spell(`par.mail${(i * 7) % 130}@example.org`, i);
    const name = `Par User${n}`;
    switch (i % 7) {
      case 0:
        return { path: '/v1/users', body: { username, email, password } };
      case 1:
        return { path: '/v2/users', body: { username, email, password, status: 'active' } };
      case 2:
        return { path: '/api/v1/users', body: { username, email, password } };
      case 3:
        return { path: '/users', body: { name } };
      case 4:
        return { path: '/v1/users', body: { name, email, password } };
      case 5:
        return { path: '/kb/api/v1/users', body: { username, email, password, role: 'editor' } };
      default:
        return { path: '/v1/users', body: { name, email, password }, token: pinnedToG };
    }
  });
  const responses = await Promise.all(
    requests.map(({ path, body, token = machine }, i) => {
      const send = () => call('POST', path, token, body, { 'idempotency-key': `parallel-${i}` });
      // The system may reset a connection before it is accepted, if it lets fewer wait; as any client, it tries again.
      return send().catch((error: unknown) => {
        if (!isReset(error)) throw error;
        return send();
      });
    }),
  );
  const statuses = Map.groupBy(responses, ({ status }) => status);
  t.same([...statuses.keys()].sort(), [201, 409], 'each is created, or taken');
  const created = statuses.get(201)?.length ?? 0;
  t.ok(created > requests.length / 4 && created < requests.length, `${created} created`);
  // Nobody whose profile asks for a name alone is refused: names are no keys.
  const byName = responses.filter((_, i) => i % 7 === 3);
  t.ok(byName.every(({ status }) => status === 201));

  const usernames: string[] = [];
  const emails: string[] = [];
  let path: string | undefined = '/v1/users?limit=100&cursor=';
  while (path !== undefined) {
    // The server may close a connection that has been idle for some seconds just when it is used again.
    const again: string = path;
    const { body } = await call('GET', again, machine).catch((error: unknown) => {
      if (!isReset(error)) throw error;
      return call('GET', again, machine);
    });
    for (const user of body.data) {
      usernames.push(user.username.toLowerCase());
      if (user.email !== null) emails.push(user.email.toLowerCase());
    }
    path = body.links.next;
  }
  t.equal(usernames.length, created, 'everybody who was acknowledged is there, and nobody else');
  t.equal(new Set(usernames).size, usernames.length, 'no username twice');
  t.equal(new Set(emails).size, emails.length, 'no address twice');
});
