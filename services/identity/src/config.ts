import {
  integer,
  key256,
  oneOf,
  optional,
  readSettings,
  SettingsError,
  serverSettings,
  text,
  url,
} from '@gatehouse/kit/config';
import { API_SCOPES } from '@gatehouse/tokens/scopes';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from './signing-keys.ts';

/** A trusted machine application that is created at the first start with it. */
export type FirstMachine = {
  clientId: string;
  clientSecret: string;
  name: string;
  owner: string | null;
  scopes: readonly string[];
};

export type IdentityConfig = {
  /** The issuer. */
  publicUrl: string;
  mongodbUri: string;
  /** Seals signing keys and cookies; lost, everything sealed under it is lost. */
  masterKey: Buffer;
  accessTokenAlgorithm: SigningAlgorithm;
  /** In seconds. */
  accessTokenLifetime: number;
  rateLimit: 'on' | 'off';
  firstMachines: readonly FirstMachine[];
};

/** The scopes of a machine that may do all that a machine may. */
export const MACHINE_SCOPES = API_SCOPES.filter((scope) => scope !== 'read:profile');

const settings = {
  ...serverSettings,
  mongodbUri: url('IDENTITY_MONGODB_URI', ['mongodb:', 'mongodb+srv:']),
  masterKey: key256('IDENTITY_MASTER_KEY'),
  accessTokenAlgorithm: oneOf('IDENTITY_ACCESS_TOKEN_ALG', SIGNING_ALGORITHMS, 'ES256'),
  accessTokenLifetime: integer('IDENTITY_ACCESS_TOKEN_SECONDS', { min: 60, max: 86_400, default: 3600 }),
  machineId: optional(text('IDENTITY_MACHINE_ID')),
  machineSecret: optional(text('IDENTITY_MACHINE_SECRET')),
};

/** Reads the settings of the identity process; throws a SettingsError. */
export function readIdentityConfig(env: NodeJS.ProcessEnv) {
  const { machineId, machineSecret, ...config } = readSettings(settings, env);
  if (machineId === undefined && machineSecret === undefined) return { ...config, firstMachines: [] };
  if (machineId === undefined || machineSecret === undefined || machineSecret.length < 32) {
    throw new SettingsError([
      'IDENTITY_MACHINE_ID and IDENTITY_MACHINE_SECRET go together, and the secret has 32 characters or more.',
    ]);
  }
  const machine = {
    clientId: machineId,
    clientSecret: machineSecret,
    name: 'First machine',
    owner: null,
    scopes: MACHINE_SCOPES,
  };
  return { ...config, firstMachines: [machine] };
}
