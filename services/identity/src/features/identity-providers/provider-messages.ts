import type { Logger } from '@gatehouse/core/logger';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import type { SignInMessage } from '../../core/sessions/sign-in-method.ts';
import { UpstreamError } from './upstream-identity.ts';

const message = (title: string, advice: string): SignInMessage => ({ title, advice });

/** What the pages say when a provider, by its name for people, has not signed somebody in. */
export const messagesOf = (label: string) => ({
  cancelled: message(
    `You did not sign in with ${label}`,
    `The sign-in was cancelled at ${label}. Try again, or choose another way.`,
  ),
  unavailable: message(
    `${label} is not responding`,
    'Nothing is wrong with your account. Try again in a minute, or choose another way.',
  ),
  refused: message(
    `The sign-in with ${label} did not work`,
    `We could not accept the response of ${label}. Try again. If the error happens again, report it to the people who run this site.`,
  ),
  notFresh: message(
    `${label} cannot confirm that it is you`,
    `You are asked to prove again who you are, and ${label} does not say when you last signed in there. Use your password or a passkey. If you have no password, choose “Forgotten your password?” to set one.`,
  ),
  tooLate: message(
    `This sign-in with ${label} has expired`,
    'It took too long, was used before, or began in another browser. Try again.',
  ),
  wrongDomain: message(
    `You cannot use this ${label} account here`,
    `Only people with a confirmed email address of certain organizations can. Choose another account at ${label}, or ask the people who run this site.`,
  ),
  inactive: message('Your account is deactivated', 'Ask an admin to activate it again.'),
  noAddress: message(
    `${label} did not send an email address that can be used`,
    `Every account here has one. Confirm your address at ${label}, or create an account here and connect ${label} afterwards.`,
  ),
  noSignUp: message(
    `There is no account for your ${label} account`,
    `Accounts are not created with ${label} here. If you have one, sign in another way and connect ${label} in your account.`,
  ),
  accountExists: (email: string) =>
    message(
      `Sign in to connect ${label}`,
      `There is an account with the address ${email}. Sign in to it with your password or a passkey. Your ${label} account is then connected to it, and signs you in from then on.`,
    ),
  linkedElsewhere: message(
    `${label} was not connected`,
    `That ${label} account is connected to another account here, or your account is already connected to ${label}.`,
  ),
});

/** What the page says of an error of the client, which is logged: people cannot do anything about most of them. */
export function failureMessage(
  error: unknown,
  { provider, logger }: { provider: Pick<IdentityProvider, 'id' | 'label'>; logger: Logger },
): SignInMessage {
  if (!(error instanceof UpstreamError)) throw error;
  const { failure, message } = error;
  if (failure !== 'cancelled') {
    logger.warn(
      { provider: provider.id, failure, reason: message },
      'a sign-in at an identity provider failed',
    );
  }
  const say = messagesOf(provider.label);
  return failure === 'not_fresh' ? say.notFresh : say[failure];
}
