import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';

type Told = {
  id: string;
  subject: string;
  data: { type: string; user_id: string | null; client_id: string | null };
};

t.test(
  'notifications is told of sign-ins, applications and credentials, until it has taken each',
  async (t) => {
    const told: Told[] = [];
    let refused = 0;
    const notifications = createServer(async (request, response) => {
      const event = (await json(request)) as Told;
      const isRefused = refused < 2;
      if (isRefused) refused += 1;
      else told.push(event);
      response.writeHead(isRefused ? 503 : 204).end();
    });
    const notificationsUrl = `http://127.0.0.1:${await listen(t, notifications)}`;
    const { call, people, login } = await build(t, { config: { notificationsUrl } });
    const types = () => told.map(({ data }) => data.type);

    const token = await login('admin');
    const failed = await call('POST', '/api/v1/auth/login', undefined, {
      username: 'ann',
      password: `${PASSWORD}x`,
    });
    t.equal(failed.status, 401);
    const created = await call('POST', '/api/v1/applications', token, {
      name: 'Shop',
      type: 'machine',
      scopes: ['read:data'],
    });
    const { client_id: client } = created.body as { client_id: string };
    await call('POST', `/api/v1/applications/${client}/secrets`, token, {});
    await call('DELETE', `/api/v1/applications/${client}`, token);
    const expected = [
      'application.created',
      'application.deleted',
      'credential.created',
      'sign_in.failed',
      'sign_in.succeeded',
    ];
    await until(() => expected.every((type) => types().includes(type)), 20_000);
    for (const { subject, id, data } of told) {
      t.equal(subject, 'identity.audit.recorded');
      t.match(id, /^evt_/);
      if (data.type.startsWith('application')) t.equal(data.client_id, client);
      if (data.type === 'sign_in.failed') t.equal(data.user_id, people.ann.id);
    }
    t.notMatch(JSON.stringify(told), /correct horse/);
  },
);
