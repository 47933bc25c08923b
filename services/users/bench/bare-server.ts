// What bench/reads.ts compares the service with: Fastify and the driver, which do the same with the database and
// nothing else. Listens on PORT, with the database of MONGODB_URI.
import { newId } from '@gatehouse/core/ids';
import Fastify from 'fastify';
import mongoose from 'mongoose';
import { Type } from 'typebox';
import { PUBLIC_FIELDS, type UserDocument } from '../src/store/user-document.ts';

const { PORT = '', MONGODB_URI = '' } = process.env;
const client = new mongoose.mongo.MongoClient(MONGODB_URI, {
  maxPoolSize: 50,
  writeConcern: { w: 1, journal: true },
});
await client.connect();
const users = client.db('users').collection<UserDocument>('users');
const app = Fastify();

const User = Type.Object({
  id: Type.String(),
  username: Type.String(),
  email: Type.Union([Type.String(), Type.Null()]),
  createdAt: Type.String(),
  updatedAt: Type.String(),
});
const show = ({ _id, username, email, created_at, updated_at }: UserDocument) => ({
  id: _id,
  username,
  email,
  createdAt: created_at.toISOString(),
  updatedAt: updated_at.toISOString(),
});

app.get<{ Params: { id: string } }>(
  '/users/:id',
  { schema: { response: { 200: User } } },
  async (request, reply) => {
    const user = await users.findOne({ _id: request.params.id }, { projection: PUBLIC_FIELDS });
    return user === null ? reply.code(404).send() : show(user);
  },
);

app.get('/users', { schema: { response: { 200: Type.Object({ data: Type.Array(User) }) } } }, async () => {
  const found = await users.find({}, { projection: PUBLIC_FIELDS }).sort({ _id: 1 }).limit(20).toArray();
  return { data: found.map(show) };
});

const Named = Type.Object({ id: Type.String(), name: Type.String() });
app.post<{ Body: { name: string } }>(
  '/users',
  { schema: { body: Type.Object({ name: Type.String() }), response: { 201: Named } } },
  async (request, reply) => {
    const { name } = request.body;
    const id = newId('usr');
    const now = new Date();
    await users.insertOne({
      _id: id,
      username: id,
      username_key: id,
      email: null,
      email_key: `\0${id}`,
      email_verified: false,
      name,
      first_name: null,
      last_name: null,
      phone: null,
      picture: null,
      role: 'user',
      status: 'active',
      password_hash: null,
      epoch: 0,
      sign_in_epoch: 0,
      version: 1,
      created_at: now,
      updated_at: now,
      outbox: [],
      search_text: '',
      search_words: [],
    });
    return reply.code(201).send({ id, name });
  },
);

await app.listen({ host: '127.0.0.1', port: Number(PORT) });
