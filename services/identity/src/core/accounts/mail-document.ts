import { brand } from '@gatehouse/web/brand';
import { dateAndTimeText } from '@gatehouse/web/formatting';
import { type Content, type Html, html, render } from '@gatehouse/web/html';
import { language } from '@gatehouse/web/language';
import { t } from '../../texts/texts.ts';

/** A mail without its addresses; `text` and `html` say the same. */
export type Mail = { subject: string; text: string; html: string };

/** When a person did something, and the IP address that it came from, if that is known. */
export type Occasion = { at: Date; address?: string | undefined };

/** When and from where, in words. */
export function occasion({ at, address }: Occasion): string {
  const time = dateAndTimeText(at);
  return address === undefined ? time : t('{time}, from the address {address}', { time, address });
}

/** Sentences of one paragraph: not all languages have spaces between them. */
export const sentences = (...all: readonly string[]): string =>
  all.reduce((before, next) => t('{before} {next}', { before, next }));

export type Paragraph = string | { link: string; label: string };

/** A mail of these paragraphs, in the language of now. */
export function mail(subject: string, paragraphs: readonly Paragraph[]): Mail {
  const text = paragraphs.map((it) => (typeof it === 'string' ? it : it.link)).join('\n\n');
  const body = paragraphs.map((it) =>
    typeof it === 'string'
      ? html`<p>${it}</p>`
      : html`<p><a href="${it.link}">${it.label}</a></p>
<p>${it.link}</p>`,
  );
  return {
    subject: `${subject} – ${brand().name}`,
    text: `${text}\n`,
    html: render(document(subject, body)),
  };
}

function document(subject: string, body: Content): Html {
  return html`<!doctype html>
<html lang="${language().tag}"${language().direction === 'rtl' && html` dir="rtl"`}>
<head><meta charset="utf-8"><title>${subject}</title><meta name="color-scheme" content="light dark"><meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no"></head>
<body><h1>${subject}</h1>
${body}
</body>
</html>
`;
}

/** The longest name in a mail, in characters: shorter than what would pass for a sentence of ours. */
const MAX_NAME = 40;

/**
 * A name that somebody chose, in a mail to somebody else or to them: one line, without what mail programs turn into links
 * (addresses, host names, phone numbers) and without what ends a sentence.
 */
export function plainName(name: string): string {
  const plain = name
    .normalize('NFKC')
    .replace(/(?<=\S)[.。](?=\S)/gu, '·')
    .replace(/[^\p{L}\p{M}\p{N}·_'&+()\u2019-]+/gu, ' ')
    .replace(/\d{3}(?=[ ()+-]*\d)/g, '$&·')
    .trim();
  return [...plain].length > MAX_NAME ? `${[...plain].slice(0, MAX_NAME - 1).join('')}…` : plain;
}
