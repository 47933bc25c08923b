/** Joiners are allowed, as scripts and emoji need them; marks that change the direction could forge a name. */
const INVISIBLE = /[\p{Cc}\p{Co}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;

/** Whether a line of text has control characters, line breaks or marks that show nothing, such as U+202E. */
export function hasInvisibleCharacters(text: string): boolean {
  return INVISIBLE.test(text);
}
