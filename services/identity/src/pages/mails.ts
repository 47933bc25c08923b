import { PRODUCT } from '@gatehouse/ui/document';
import { dateAndTimeText, duration } from '@gatehouse/ui/formatting';
import { type Content, type Html, html, render } from '@gatehouse/ui/html';

/** A mail without its addresses; `text` and `html` say the same. */
export type Mail = { subject: string; text: string; html: string };

export function verifyEmailMail(model: { link: string; username: string }): Mail {
  return mail('Confirm your email address', [
    `The ${PRODUCT} account “${oneLine(model.username)}” has this email address. Is it yours?`,
    'Open this link, sign in to that account, and press the button there:',
    { link: model.link, label: 'Confirm my email address' },
    'If you have no such account, you need not do anything. Somebody may have mistyped an address.',
  ]);
}

/** `minutes`: how long the link works. */
export function newPasswordMail(model: { link: string; minutes: number }): Mail {
  return mail('Choose a new password', [
    `Somebody asked for a new password for your ${PRODUCT} account. If it was you, open this link:`,
    { link: model.link, label: 'Choose a new password' },
    `It works once, for ${duration(model.minutes * 60)}.`,
    'If it was not you, you need not do anything. Your password stays as it is. Give the link to nobody.',
  ]);
}

/** When a person did something, and the IP address that it came from, if that is known. */
export type Occasion = { at: Date; address?: string | undefined };

/** What an application was given to authenticate by. */
export type NewCredential =
  | { what: 'a client secret' | 'public keys' }
  | { what: 'an API key' | 'an API key in place of another'; name: string };

/** What a person is told of, as somebody else may have done it. */
export type Notice =
  | ({ kind: 'password_changed' } & Occasion)
  /** A new password was set with a mailed link. */
  | ({ kind: 'recovery_used' } & Occasion)
  | { kind: 'new_device'; device: string; address: string; at: Date }
  | ({ kind: 'new_credential'; application: string } & NewCredential)
  | { kind: 'application_given' | 'application_received'; application: string };

export function noticeMail(notice: Notice, { username }: { username: string }): Mail {
  const account = `your ${PRODUCT} account ${oneLine(username)}`;
  const fine = 'If it was you, you need not do anything.';
  const ask =
    'Ask for a new password at once: open the page where you sign in, and choose “Forgotten your password?”.';
  switch (notice.kind) {
    case 'password_changed':
      return mail('Your password has been changed', [
        `The password of ${account} was changed on ${occasion(notice)}. Other devices and all programs are signed out.`,
        fine,
        `If it was not you, somebody else may be in your account. ${ask}`,
      ]);
    case 'recovery_used':
      return mail('A link for a new password was used', [
        `A link that we sent to this address was used to choose a new password for ${account}, on ${occasion(notice)}.`,
        fine,
        `If it was not you, somebody else can read your mail. Change the password of your mailbox first. Then: ${ask}`,
      ]);
    case 'new_device':
      return mail('A sign-in from a new device', [
        `Somebody has just signed in to ${account} from a device that we have not seen before:`,
        `${oneLine(notice.device)}, at the address ${notice.address}, on ${dateAndTimeText(notice.at)}.`,
        fine,
        'If it was not you, somebody else knows your password. Sign in, change the password, and look at the sessions of your account.',
      ]);
    case 'application_given':
      return mail('An application has been given away', [
        `An application of ${account}, “${oneLine(notice.application)}”, has just been given to somebody else. You can no longer manage it, and its secrets and keys no longer work.`,
        'If it was you, or an admin has told you, you need not do anything.',
        'If not, somebody else may be in your account. Sign in, change the password, and ask an admin to give the application back.',
      ]);
    case 'application_received':
      return mail('You have been given an application', [
        `The application “${oneLine(notice.application)}” has just been given to ${account}. What it does from now on, it does for you.`,
        'It has no secrets and keys until you make some. Before you do, look at its redirect URIs and its scopes.',
        'If you do not want it, sign in and delete it.',
      ]);
    case 'new_credential':
      return mail('A new way into the API was created', [
        `An application of ${account}, “${oneLine(notice.application)}”, has just been given ${notice.what}${'name' in notice ? `, “${oneLine(notice.name)}”` : ''}.`,
        fine,
        'If it was not you, somebody else is in your account. Sign in, change the password, and end the secrets and keys of your applications, which the page offers after that.',
      ]);
  }
}

/** For the address that the account had before. `hours`: how long the link works. */
export function emailChangedMail(model: { link: string; username: string; hours: number } & Occasion): Mail {
  return mail('Your email address has been changed', [
    `The ${PRODUCT} account ${oneLine(model.username)} was given another email address than this one on ${occasion(model)}.`,
    'If it was you, you need not do anything.',
    'If it was not you, somebody else may be in your account. Open this link to put this address back:',
    { link: model.link, label: 'Put this address back' },
    `It works once, for ${model.hours} hours. It signs everybody out, and you choose a new password. Give the link to nobody.`,
  ]);
}

function occasion({ at, address }: Occasion): string {
  return dateAndTimeText(at) + (address === undefined ? '' : `, from the address ${address}`);
}

type Paragraph = string | { link: string; label: string };

function mail(subject: string, paragraphs: readonly Paragraph[]): Mail {
  const text = paragraphs.map((it) => (typeof it === 'string' ? it : it.link)).join('\n\n');
  const body = paragraphs.map((it) =>
    typeof it === 'string'
      ? html`<p>${it}</p>`
      : html`<p><a href="${it.link}">${it.label}</a></p>
<p>${it.link}</p>`,
  );
  return { subject: `${subject} – ${PRODUCT}`, text: `${text}\n`, html: render(document(subject, body)) };
}

function document(subject: string, body: Content): Html {
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title><meta name="color-scheme" content="light dark"></head>
<body><h1>${subject}</h1>
${body}
</body>
</html>
`;
}

/** Keeps a name from adding lines to the text. */
function oneLine(name: string): string {
  return name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}
