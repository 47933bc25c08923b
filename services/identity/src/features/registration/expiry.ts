import type { Application, ApplicationStore } from '../../core/applications/application.ts';
import type { ApplicationWrites } from '../../core/applications/application-writes.ts';
import type { Audit } from '../../core/audit/audit.ts';
import { isSelfManaged, type Registration, type RegistrationStore } from './registration.ts';

const DAY_MS = 86_400_000;
/** How long a registered client stays that nobody uses. */
const UNUSED_DAYS = 30;
/** The same for a client of nobody that was never used. */
const NEVER_USED_DAYS = 1;
/** Of nobody's clients. Beyond it, the first go. */
export const MAX_UNUSED = 100;

/** The end of clients that have registered themselves and that nobody uses. */
export type RegistrationExpiry = {
  /** Ends those that nobody has used for long. */
  run(): Promise<void>;
  /** Ends the oldest of nobody's that were never used, beyond MAX_UNUSED. */
  limitUnused(): Promise<void>;
  /** Ends a client with all that was issued to it. */
  end(application: Application): Promise<void>;
};

export function createRegistrationExpiry(options: {
  registrations: RegistrationStore;
  applicationStore: Pick<ApplicationStore, 'findNow' | 'markDeleted'>;
  applicationWrites: Pick<ApplicationWrites, 'revoke'>;
  audit: Pick<Audit, 'record'>;
}): RegistrationExpiry {
  const { registrations, applicationStore, applicationWrites, audit } = options;

  async function end({ id, owner }: Application): Promise<void> {
    const deleted = await applicationStore.markDeleted(id, owner === null ? {} : { owner });
    if (deleted !== undefined) await applicationWrites.revoke([{ application: deleted, over: true }]);
    await registrations.remove(id);
  }

  /** Ends a client, or notes when to look again. `until` says when one ends that is as it is now. */
  async function check(registration: Registration, until: (application: Application) => Date): Promise<void> {
    const { id, owner } = registration;
    const application = await applicationStore.findNow(id);
    // Once it was transferred it is an application like any other.
    if (application === undefined || !isSelfManaged(registration, application))
      return registrations.remove(id);
    const { lastUse } = application;
    const checkAt = until(application);
    if (checkAt > new Date()) return registrations.checked(id, { isUsed: lastUse !== null, checkAt });
    await end(application);
    if (owner === null && lastUse === null) return;
    const subject = owner === null ? {} : { subject: owner };
    await audit.record({
      action: 'application.deleted',
      client: id,
      ...subject,
      details: { cause: 'unused' },
    });
  }

  return {
    end,
    async run() {
      for (let due = await registrations.due(); due.length > 0; due = await registrations.due()) {
        for (const registration of due) await check(registration, endOf);
      }
    },
    async limitUnused() {
      for (const registration of await registrations.unusedWithoutOwner(MAX_UNUSED)) {
        // One that was used since stays.
        await check(registration, (it) => (it.lastUse === null ? new Date(0) : endOf(it)));
      }
    },
  };
}

/** When a registered client ends, unless somebody uses it until then. */
export function endOf({ owner, lastUse, createdAt }: Application): Date {
  const days = owner === null && lastUse === null ? NEVER_USED_DAYS : UNUSED_DAYS;
  return new Date((lastUse?.at ?? createdAt).getTime() + days * DAY_MS);
}
