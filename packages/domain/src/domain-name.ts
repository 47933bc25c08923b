import { domainToASCII, domainToUnicode } from 'node:url';

/** Longer than any domain (RFC 1035 §2.3.4): a stranger may send more, and encoding takes the square of the length. */
const MAX_LENGTH = 253;
/** Letters, digits, hyphens and dots; a label of digits at the end would make it an address (RFC 3696 §2). */
const A_LABELS = /^(?!.*\.\d+$)[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63})*$/;
const A_LABEL = /(?:^|\.)xn--/;
/** ASCII characters that no domain has. A parser of URLs would cut the domain there. */
const FOREIGN = /[\p{ASCII}--[a-zA-Z\d.\-]]/v;

/**
 * A domain as A-labels, in lower case and without a dot at its end, by which domains are the same whatever their case, script and
 * width (UTS #46, nontransitional: ß is not ss). Undefined for a text that is no domain.
 */
export function asciiDomain(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const visible = text
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .trim();
  if (FOREIGN.test(visible)) return undefined;
  const ascii = (/^\p{ASCII}*$/u.test(visible) ? visible.toLowerCase() : domainToASCII(visible)).replace(
    /\.$/,
    '',
  );
  if (ascii.length > MAX_LENGTH || !A_LABELS.test(ascii)) return undefined;
  return A_LABEL.test(ascii) && !isEncoded(ascii) ? undefined : ascii;
}

/** Whether each A-label encodes a label, and in the one way: domainToUnicode leaves the others as they are. */
function isEncoded(ascii: string): boolean {
  const decoded = domainToUnicode(ascii);
  return !A_LABEL.test(decoded) && domainToASCII(decoded) === ascii;
}
