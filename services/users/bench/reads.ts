// `npm run bench:reads [-- USERS [ROUNDS]]`: what the users service adds to a request, beside bare-server.ts, with so
// many users (20,000 unless told).
import { newId } from '@gatehouse/core/ids';
import { type AuthorizedCall, benchBeside } from '@gatehouse/testing/bench-beside';
import mongoose from 'mongoose';
import type { UserDocument } from '../src/store/user-document.ts';

const total = Number(process.argv[2] ?? 20_000);
const rounds = Number(process.argv[3] ?? 15);
const BATCH = 5000;

function documentOf(i: number): UserDocument {
  const id = newId('usr');
  const at = new Date(Date.parse('2024-01-01T00:00:00Z') + i * 1000);
  return {
    _id: id,
    username: `User.${i}`,
    username_key: `user.${i}`,
    email: `user.${i}@example.org`,
    email_key: `user.${i}@example.org`,
    email_verified: true,
    name: null,
    first_name: 'User',
    last_name: `Number ${i}`,
    phone: '+49 30 1234567',
    picture: `https://example.org/pictures/${id}.png`,
    role: 'user',
    status: 'active',
    password_hash: `$argon2id$v=19$m=19456,t=2,p=1$${'x'.repeat(22)}$${'y'.repeat(43)}`,
    epoch: 0,
    sign_in_epoch: 0,
    version: 1,
    created_at: at,
    updated_at: at,
    outbox: [],
    search_text: '',
    search_words: [],
  };
}

/** The ids of those it writes. */
async function fill(uri: string): Promise<string[]> {
  const client = await new mongoose.mongo.MongoClient(uri).connect();
  const ids: string[] = [];
  for (let i = 0; i < total; i += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, total - i) }, (_, n) => documentOf(i + n));
    await client.db('users').collection<UserDocument>('users').insertMany(batch, { ordered: false });
    ids.push(...batch.map(({ _id }) => _id));
  }
  await client.close();
  return ids;
}

let ids: string[] = [];
const bench = {
  name: 'users',
  main: new URL('../src/service.ts', import.meta.url).pathname,
  bare: new URL('./bare-server.ts', import.meta.url).pathname,
  rounds,
  scope: 'read:users write:users',
  title: `${total} users`,
  nats: true,
  async fill(uri: string) {
    ids = await fill(uri);
  },
};

await benchBeside(bench, async ({ service, bare, ask, compare }) => {
  const get = (path: string): AuthorizedCall => ({ method: 'GET', path, status: 200 });
  let created = 0;
  const post = (): AuthorizedCall => {
    created += 1;
    return { method: 'POST', path: '/users', body: `{"name":"Ann Lee ${created}"}`, status: 201 };
  };
  const someone = () => ids[Math.floor(Math.random() * ids.length)];

  const [id] = ids;
  const responses = await Promise.all([ask(bare, get(`/users/${id}`)), ask(service, get(`/v1/users/${id}`))]);
  if (responses[0] !== responses[1]) throw new Error(`they answer differently: ${responses}`);
  const { links } = JSON.parse(await ask(service, get('/v1/users?cursor=')));

  await compare({
    'bare read': { server: bare, next: () => get(`/users/${someone()}`) },
    read: { server: service, next: () => get(`/v1/users/${someone()}`) },
  });
  await compare({
    'bare list': { server: bare, next: () => get('/users') },
    'list by offset (A)': { server: service, next: () => get('/v1/users?offset=0') },
    'list by page (B2)': { server: service, next: () => get('/v2/users?page=2') },
    'list by cursor (A)': { server: service, next: () => get(links.next) },
  });
  await compare({
    'bare insert': { server: bare, next: post },
    'create (D)': { server: service, next: post },
  });
});
