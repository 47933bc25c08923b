import { isIP } from 'node:net';
import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import { deriveKeys } from '@gatehouse/core/sealing';
import { PHISHING_RESISTANT } from '@gatehouse/tokens/acr';
import { createAsset } from '@gatehouse/web/asset';
import Router from '@koa/router';
import type { Account } from '../../core/accounts/account.ts';
import { FAILED_PASSKEYS, INTERACTION_SECONDS } from '../../core/limits/bounds.ts';
import type { Device } from '../../core/oidc/epochs/sign-in-epochs.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { FactorList } from '../../core/sessions/listed-factors.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { t } from '../../texts/texts.ts';
import { createChallenges } from './challenges.ts';
import type { Passkey } from './passkey.ts';
import { PASSKEY_CHANGES } from './passkey-notices.ts';
import { ADD, PASSKEYS, passkeysPart, signalsPart } from './passkey-pages.ts';
import { addPasskeyRoutes } from './passkey-routes.ts';
import { PASSKEY_METHOD, passkeySignIn } from './passkey-sign-in.ts';
import { passkeySignUp } from './passkey-sign-up.ts';
import { createPasskeyStore } from './passkey-store.ts';
import { passkeyUpgrade } from './passkey-upgrade.ts';
import { createPasskeys, signalsOf } from './passkeys.ts';
import { createRecordPasskey, type RemovePasskey } from './record-passkey.ts';
import type { passkeySettings } from './settings.ts';

/** Signing in with passkeys (WebAuthn Level 3), and the pages on which people manage them. */
export function passkeys(
  core: Ports<'accounts' | 'sessions' | 'tokens' | 'pages'> & WithSettings<typeof passkeySettings>,
): IdentityModule {
  const { hostname: rpId, origin } = new URL(core.issuer);
  // Browsers have no passkeys for an IP address (WebAuthn Level 3 §5.1.3).
  if (isIP(rpId.replace(/^\[|\]$/g, '')) !== 0) return {};
  const script = createAsset('/account', 'passkey.js', [new URL('passkey.js', import.meta.url)]);
  const signalScript = createAsset('/account', 'passkey-signals.js', [
    new URL('passkey-signals.js', import.meta.url),
  ]);
  const passkeys = createPasskeys({
    ...core,
    rpId,
    origin,
    store: createPasskeyStore(core.connection, core.removedMethods),
    challenges: createChallenges({
      keys: deriveKeys(core.masterKeys, 'passkey challenges'),
      seconds: INTERACTION_SECONDS,
      useOnce: core.store.useOnce,
    }),
  });
  const method = passkeySignIn({
    ...{ ...core, passkeys, script: script.path },
    failures: createAddressLimiter(FAILED_PASSKEYS, core.sharedLimits),
  });
  const record = createRecordPasskey(core);
  const remove: RemovePasskey = async (userId, passkey, by, keep) => {
    if (!(await passkeys.remove(userId, passkey.id))) return false;
    await core.sessionEnds.endSignIns(
      userId,
      ({ payload }) => (payload.device as Device | undefined)?.passkey === passkey.id,
      { action: 'session.ended', ...by, details: { passkey: passkey.id } },
      keep,
    );
    await record('removed', userId, passkey, by);
    return true;
  };
  /** The same for its owner. Throws `conflict` for the last passkey of an account that nothing else signs in to. */
  const removeOwn: RemovePasskey = (userId, ...removal) =>
    core.lastWay.removeUnlessLast(
      userId,
      PASSKEY_METHOD,
      () => remove(userId, ...removal),
      async () => (await passkeys.list(userId)).length > 1,
    );
  const factors: FactorList = {
    list: async (userId) => (await passkeys.list(userId)).map((it) => ({ ...it, type: 'passkey' })),
    async remove(userId, id, by) {
      const passkey = (await passkeys.list(userId)).find((it) => it.id === id);
      if (passkey === undefined) return false;
      // An admin can: the owner then asks for a new password.
      return (by.actor === userId ? removeOwn : remove)(userId, passkey, by);
    },
  };
  const signals = (account: Account, accepted?: readonly Passkey[]) => ({
    content: signalsPart(signalsOf(rpId, account, accepted)),
    scripts: [signalScript.path],
  });
  addPasskeyRoutes(core.accountPages, {
    ...{ ...core, passkeys, record, remove: removeOwn, signals },
    script: script.path,
  });
  const router = new Router({ sensitive: true });
  for (const { path, text } of [script, signalScript]) {
    router.get(path, (ctx) => {
      ctx.type = 'text/javascript; charset=utf-8';
      ctx.set('cache-control', 'public, max-age=31536000, immutable');
      ctx.body = text;
    });
  }
  const { relatedOrigins: origins = [] } = core.config;
  if (origins.length > 0) {
    router.get('/.well-known/webauthn', (ctx) => {
      ctx.set('cache-control', 'public, max-age=3600');
      ctx.body = { origins };
    });
  }
  return {
    routers: [router],
    pages: ['/.well-known/webauthn'],
    extensions: {
      signInMethods: [method],
      pagesAfterSignIn: [passkeyUpgrade({ ...core, passkeys, record, script: script.path })],
      signUpMethods: [passkeySignUp({ ...core, passkeys, script: script.path })],
      credentials: [{ ...passkeys, name: 'passkeys' }],
      undoableChanges: PASSKEY_CHANGES,
      factors: [factors],
      securityParts: [
        {
          title: 'Passkeys',
          content: async ({ signedIn }) => passkeysPart((await passkeys.list(signedIn.account.id)).length),
        },
      ],
      setUps: [
        {
          ...{ path: ADD, acr: PHISHING_RESISTANT },
          label: () => t('Add a passkey'),
          hint: () => t('You sign in with your fingerprint, your face or the PIN of your device.'),
        },
      ],
      savedProfileParts: [signals],
      accountSections: [{ path: PASSKEYS, label: 'Passkeys', subject: 'sign-in method' }],
      erasers: [(userId) => passkeys.removeAll(userId)],
    },
  };
}
