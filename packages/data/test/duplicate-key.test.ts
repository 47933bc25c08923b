import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import mongoose from 'mongoose';
import t from 'tap';

const { Schema } = mongoose;

t.test('the field of a duplicate value', async (t) => {
  const schema = new Schema({
    _id: String,
    username: { type: String, unique: true, sparse: true },
    email: { type: String, unique: true, sparse: true },
    owner: String,
    slug: String,
    nested: { key: String },
  });
  schema.index({ owner: 1, slug: 1 }, { unique: true, partialFilterExpression: { slug: { $exists: true } } });
  schema.index({ 'nested.key': 1 }, { unique: true, sparse: true });
  const { store: User } = await startTestDatabase(t, {
    define: (connection) => connection.model('User', schema),
  });
  await User.create({ _id: 'a', username: 'ann', email: 'a@x', owner: 'o', slug: 's', nested: { key: 'k' } });
  await User.create({ _id: 'b', username: 'bob', email: 'b@x' });

  const failures: [label: string, write: () => Promise<unknown>, field: string | undefined][] = [
    ['create', () => User.create({ _id: 'c', username: 'ann' }), 'username'],
    ['another field', () => User.create({ _id: 'c', username: 'c', email: 'a@x' }), 'email'],
    ['the id', () => User.create({ _id: 'a' }), '_id'],
    ['a native insert', () => User.collection.insertOne({ _id: 'c', email: 'b@x' } as never), 'email'],
    ['an update', () => User.updateOne({ _id: 'b' }, { username: 'ann' }), 'username'],
    ['find and update', () => User.findOneAndUpdate({ _id: 'b' }, { email: 'a@x' }), 'email'],
    ['save', async () => (await User.findById('b').orFail()).set('username', 'ann').save(), 'username'],
    ['several fields', () => User.create({ _id: 'c', owner: 'o', slug: 's' }), 'owner'],
    ['a field in an object', () => User.create({ _id: 'c', nested: { key: 'k' } }), 'nested.key'],
    ['a value that cannot be cast', () => User.create({ _id: 'c', username: {} as never }), undefined],
    ['an update that is none', () => User.collection.updateOne({}, { $nosuch: 1 }), undefined],
  ];
  for (const [label, write, field] of failures) {
    const error = await write().then(
      () => t.fail(`${label} did not fail`),
      (error: unknown) => error,
    );
    t.equal(duplicateKeyField(error), field, label);
  }
});

t.test('any other value', async (t) => {
  for (const value of [undefined, null, 'E11000', 11000, new Error('E11000'), { code: 11000 }]) {
    t.equal(duplicateKeyField(value), undefined, String(value));
  }
});
