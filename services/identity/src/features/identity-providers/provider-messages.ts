import type { Logger } from '@gatehouse/core/logger';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import type { SignInMessage } from '../../core/sessions/sign-in-method.ts';
import { t } from '../../texts/texts.ts';
import { UpstreamError } from './upstream-identity.ts';

const message = (title: string, advice: string): SignInMessage => ({ title, advice });

/** The messages of pages after a failed sign-in at a provider, with its name for people. */
export const messagesOf = (provider: string) => ({
  cancelled: message(
    t('You did not sign in with {provider}', { provider }),
    t('The sign-in was cancelled at {provider}. Try again, or choose another way.', { provider }),
  ),
  unavailable: message(
    t('{provider} is not responding', { provider }),
    t('Nothing is wrong with your account. Try again in a minute, or choose another way.'),
  ),
  refused: message(
    t('The sign-in with {provider} did not work', { provider }),
    t(
      'We could not accept the response of {provider}. Try again. If the error happens again, report it to the people who run this site.',
      { provider },
    ),
  ),
  notFresh: message(
    t('{provider} cannot confirm that it is you', { provider }),
    t(
      'You are asked to prove again who you are, and {provider} does not say when you last signed in there. Use your password or a passkey. If you have no password, choose “Forgotten your password?” to set one.',
      { provider },
    ),
  ),
  tooLate: message(
    t('This sign-in with {provider} has expired', { provider }),
    t('It took too long, was used before, or began in another browser. Try again.'),
  ),
  wrongDomain: message(
    t('You cannot use this {provider} account here', { provider }),
    t(
      'Only people with a confirmed email address of certain organizations can. Choose another account at {provider}, or ask the people who run this site.',
      { provider },
    ),
  ),
  inactive: message(t('Your account is deactivated'), t('Ask an admin to activate it again.')),
  noAddress: message(
    t('{provider} did not send an email address that can be used', { provider }),
    t(
      'Every account here has one. Confirm your address at {provider}, or create an account here and connect {provider} afterwards.',
      { provider },
    ),
  ),
  noSignUp: message(
    t('There is no account for your {provider} account', { provider }),
    t(
      'Accounts are not created with {provider} here. If you have one, sign in another way and connect {provider} in your account.',
      { provider },
    ),
  ),
  accountExists: (email: string) =>
    message(
      t('Sign in to connect {provider}', { provider }),
      t(
        'There is an account with the address {email}. Sign in to it with your password or a passkey. Your {provider} account is then connected to it, and signs you in from then on.',
        { email, provider },
      ),
    ),
  linkedElsewhere: message(
    t('{provider} was not connected', { provider }),
    t(
      'That {provider} account is connected to another account here, or your account is already connected to {provider}.',
      { provider },
    ),
  ),
});

/** The message about an error of the client, which is logged: people cannot do anything about most of them. */
export function failureMessage(
  error: unknown,
  { provider, logger }: { provider: Pick<IdentityProvider, 'id' | 'label'>; logger: Logger },
): SignInMessage {
  if (!(error instanceof UpstreamError)) throw error;
  const { failure, detail } = error;
  if (failure !== 'cancelled') {
    logger.warn(
      { provider: provider.id, failure, reason: detail },
      'a sign-in at an identity provider failed',
    );
  }
  const say = messagesOf(provider.label);
  return failure === 'not_fresh' ? say.notFresh : say[failure];
}
