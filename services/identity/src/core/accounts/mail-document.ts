import { brand } from '@gatehouse/web/brand';
import { dateAndTimeText } from '@gatehouse/web/formatting';
import { type Content, type Html, html, render } from '@gatehouse/web/html';
import { language } from '@gatehouse/web/language';
import { schemeColours } from '@gatehouse/web/stylesheet';
import { accentPalettes } from '../../pages/colours.ts';
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
      : html`<p><a class="button" href="${it.link}">${it.label}</a></p>
<p class="address">${it.link}</p>`,
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
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${subject}</title><style>${styles(brand().primaryColor)}</style><meta name="color-scheme" content="light dark"><meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no"></head>
<body><main>
<p class="brand">${brand().name}</p>
<h1>${subject}</h1>
${body}
</main></body>
</html>
`;
}

const COLOURS = { light: schemeColours('light'), dark: schemeColours('dark') };

/** The colours in values: mail programs know no custom properties. Without styles, a mail is text with links. */
function styles(primaryColor: string | undefined): string {
  const own = primaryColor === undefined ? undefined : accentPalettes(primaryColor);
  const [light, dark] = (['light', 'dark'] as const).map((scheme) => {
    const { ground, surface, ink, line, accent, ...more } = { ...COLOURS[scheme], ...own?.[scheme] };
    return `body { background: ${ground}; color: ${ink} }
main { background: ${surface}; border: 1px solid ${line} }
.brand { color: ${accent} }
.button { background: ${accent}; color: ${more['on-accent']} }
.address { color: ${more['soft-ink']} }`;
  });
  return `body { margin: 0; padding: 24px 12px; font: 16px/1.5 system-ui, -apple-system, Roboto, sans-serif }
main { display: block; max-width: 560px; margin: 0 auto; padding: 28px; border-radius: 10px }
h1 { margin: 4px 0 20px; font-size: 22px; line-height: 1.25 }
.brand { margin: 0; font-weight: 600 }
.button { display: inline-block; padding: 11px 18px; border-radius: 6px; font-weight: 600; text-decoration: none }
.address { font-size: 13px; word-break: break-all }
${light}
@media (prefers-color-scheme: dark) {
${dark}
}`;
}

/** The longest name in a mail, in characters: shorter than what would pass for a sentence of ours. */
const MAX_NAME = 40;

/** A name that somebody chose, in a mail to somebody else or to them: short, and without what ends a sentence. */
export function plainName(name: string): string {
  const plain = plainWords(name, '');
  return [...plain].length > MAX_NAME ? `${[...plain].slice(0, MAX_NAME - 1).join('')}…` : plain;
}

/** A sentence that somebody wrote, in a mail to somebody else. */
export const plainSentence = (sentence: string): string => plainWords(sentence, '.,:;!?#');

/** Digits of any script; mail programs know many separators. */
const PHONE_NUMBER = /\p{Nd}(?:[^\p{L}\p{Nd}]*\p{Nd}){6,}/gu;
const THREE_DIGITS = /\p{Nd}(?:[^\p{L}\p{Nd}]*\p{Nd}){2}(?=[^\p{L}\p{Nd}]*\p{Nd})/gu;

/** One line without what mail programs turn into links: addresses, host names, phone numbers. */
function plainWords(text: string, punctuation: string): string {
  return text
    .normalize('NFKC')
    .replace(/(?<=\S)[.。:](?=\S)/gu, '·')
    .replace(new RegExp(`[^\\p{L}\\p{M}\\p{N}·_'&+()\u2019${punctuation}-]+`, 'gu'), ' ')
    .replace(PHONE_NUMBER, (number) => number.replace(THREE_DIGITS, '$&·'))
    .trim();
}
