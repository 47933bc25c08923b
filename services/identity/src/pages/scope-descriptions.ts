import { MANAGE_APPS, type Role, type Scope } from '@gatehouse/tokens/scopes';
import { translated } from '@gatehouse/web/language';
import { type Text, t } from '../texts/texts.ts';

/** Permissions in the order in which they are shown. Scopes that mean the same share a sentence. */
export type ScopeGroup = { title: string; sentences: { sentence: string; scopes: string[] }[] };

/** A resource of somebody else, with its scopes in the words of whoever has registered it; or the MCP server, in ours. */
export type DescribedResource = {
  identifier: string;
  name: string;
  scopes: readonly { name: string; description: string }[];
};

type Topic = 'identity' | 'read' | 'change';
type Sentence = { topic: Topic; sentence: Text | Record<Role, Text> };

const TITLES: Record<Topic, Text> = {
  identity: 'Your identity',
  read: 'Reading data',
  change: 'Changing data',
};

const OWN_RECORD = 'Read your own account details, such as your username and email address';
const CHANGE_OWN_RECORD = 'Change your own account details, and delete your account';
const EVERYTHING =
  'Read all items, products, orders, messages, reports and usage figures, including those of other people';

/** The permissions of each scope for a person of each role, as the services really allow them. */
const SENTENCES: Record<Scope | 'offline_access' | typeof MANAGE_APPS, Sentence> = {
  openid: { topic: 'identity', sentence: 'Recognise you when you sign in' },
  profile: {
    topic: 'identity',
    sentence: 'See your name and picture, and your account details, such as your username and email address',
  },
  email: { topic: 'identity', sentence: 'See your email address, and whether you have confirmed it' },
  roles: { topic: 'identity', sentence: 'See your role here: user, editor or admin' },
  offline_access: {
    topic: 'identity',
    sentence:
      'Stay signed in on the device where you allow this, also after you sign out, until you end its access',
  },
  'read:profile': { topic: 'read', sentence: OWN_RECORD },
  'read:users': {
    topic: 'read',
    sentence: {
      user: OWN_RECORD,
      editor: 'Read the account details of all users',
      admin: 'Read the account details of all users',
    },
  },
  'read:data': {
    topic: 'read',
    sentence: {
      user: 'Read items, products, your own orders, the messages sent to you (email, SMS, push), and the usage figures of your applications',
      editor: EVERYTHING,
      admin: EVERYTHING,
    },
  },
  'read:all': {
    topic: 'read',
    sentence: {
      user: 'Read everything that you can see yourself, and nothing else',
      editor:
        'Read everything: the account details of all users, and all items, products, orders, messages, reports and usage figures, including those of other people',
      admin:
        'Read everything: the account details of all users, all items, products, orders, messages, reports and usage figures, including those of other people, and the queues of messages and reports',
    },
  },
  'write:users': {
    topic: 'change',
    sentence: {
      user: CHANGE_OWN_RECORD,
      editor: CHANGE_OWN_RECORD,
      admin: 'Create, change and delete the accounts of all users, and change their roles and passwords',
    },
  },
  'write:data': {
    topic: 'change',
    sentence: {
      user: 'Create items and place orders in your name, change your own items, cancel your orders, and receive your push messages',
      editor:
        'Create, change and delete all items and products, place orders in your name, change the status of all orders, send messages to people, and receive your push messages',
      admin:
        'Create, change and delete all items and products, place and change orders for all users, send messages to people, pause messages and reports, remove or retry those that failed, and receive your push messages',
    },
  },
  [MANAGE_APPS]: {
    topic: 'change',
    sentence: 'Manage your applications, their keys and your webhooks',
  },
};

/**
 * The scopes in plain words, grouped; those of resources of others in the words of whoever has registered them. Unknown scopes
 * are listed by name.
 */
export function describeScopes(
  scopes: readonly string[],
  role: Role,
  resources: readonly DescribedResource[] = [],
): ScopeGroup[] {
  const known = Object.entries(TITLES).map(([topic, title]) => ({
    title: translated(title),
    sentences: merge(
      Object.entries(SENTENCES)
        .filter(([scope, { topic: its }]) => its === topic && scopes.includes(scope))
        .map(([scope, { sentence }]) => [
          scope,
          translated(typeof sentence === 'string' ? sentence : sentence[role]),
        ]),
    ),
  }));
  const ofResources = resources.map(({ name, identifier, scopes: own }) => ({
    title: t('At {resource} ({host})', { resource: name, host: new URL(identifier).host }),
    sentences: own
      .filter((scope) => scopes.includes(scope.name))
      .map((scope) => ({ sentence: translated(scope.description).replace(/\.$/, ''), scopes: [scope.name] })),
  }));
  const described = new Set(ofResources.flatMap(({ sentences }) => sentences.flatMap((it) => it.scopes)));
  const unknown = scopes.filter((scope) => !Object.hasOwn(SENTENCES, scope) && !described.has(scope));
  const others = {
    title: t('Other permissions'),
    sentences: merge(unknown.map((scope) => [scope, t('“{scope}”, which has no description', { scope })])),
  };
  return [...known, ...ofResources, others].filter(({ sentences }) => sentences.length > 0);
}

function merge(entries: [scope: string, sentence: string][]): ScopeGroup['sentences'] {
  const bySentence = Map.groupBy(entries, ([, sentence]) => sentence);
  return [...bySentence].map(([sentence, its]) => ({ sentence, scopes: its.map(([scope]) => scope) }));
}
