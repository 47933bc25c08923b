const markup: unique symbol = Symbol('markup');

/** Markup that is safe to send. Only `html` makes it; a value from JSON never counts as markup. */
export type Html = { readonly [markup]: string };

/** The values that a template accepts; false, null and undefined become nothing. */
export type Content = Html | string | number | false | null | undefined | readonly Content[];

/** Where a value is inserted: between tags, inside a tag, or in a quoted attribute, which may be a URL. */
type Place = { kind: 'text' } | { kind: 'tag' } | { kind: 'value'; isAddress: boolean };

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const BEGINS_ADDRESS = /\s(?:href|action|formaction|src)="$/i;
// A private-use scheme of an application contains a period (RFC 8252 §7.1), and javascript: and data: do not.
const SAFE_URL = /^(?:https?:\/\/|\/(?!\/)|[?#]|[a-z][a-z0-9+-]*\.[a-z0-9+.-]*:)/i;
// Browsers drop some of these characters before they parse a URL, and treat a backslash as a slash.
const UNSAFE_IN_URL = /[\s\p{Cc}\\]/u;

const placesOf = new WeakMap<TemplateStringsArray, readonly Place[]>();

/**
 * Builds markup. Every value is escaped, in text and in attributes, unless it is markup itself.
 *
 * @throws TypeError when the template is unsafe (an attribute without quotes, a plain value inside a tag),
 *   or when a link or form would lead to an address that is not a path, http(s), or an application's own scheme.
 */
export function html(strings: TemplateStringsArray, ...values: Content[]): Html {
  let places = placesOf.get(strings);
  if (!places) {
    places = findPlaces(strings);
    placesOf.set(strings, places);
  }
  let text = strings[0] ?? '';
  for (const [i, value] of values.entries()) {
    text += fill(places[i] ?? { kind: 'text' }, value) + (strings[i + 1] ?? '');
  }
  return { [markup]: text };
}

/** The text of the markup. */
export function render(content: Html): string {
  return content[markup];
}

function fill(place: Place, value: Content): string {
  if (place.kind === 'value' && typeof value === 'object' && value !== null) {
    throw new TypeError('an attribute takes plain values, no markup and no list');
  }
  if (place.kind === 'value' && place.isAddress && !isSafeUrl(String(value))) {
    throw new TypeError('a link or form would lead to an unsafe address');
  }
  if (place.kind === 'tag' && hasPlain(value)) {
    throw new TypeError('a plain value inside a tag: give it as an attribute, in html');
  }
  return toText(value);
}

function isSafeUrl(address: string): boolean {
  return SAFE_URL.test(address) && !UNSAFE_IN_URL.test(address);
}

function hasPlain(value: Content): boolean {
  if (Array.isArray(value)) return value.some(hasPlain);
  return typeof value === 'string' || typeof value === 'number';
}

function toText(value: Content): string {
  if (value === false || value === null || value === undefined) return '';
  if (isMarkup(value)) return value[markup];
  if (Array.isArray(value)) return value.map(toText).join('');
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function isMarkup(value: Content): value is Html {
  return typeof value === 'object' && value !== null && markup in value;
}

function findPlaces(strings: TemplateStringsArray): Place[] {
  const places: Place[] = [];
  let kind: Place['kind'] = 'text';
  for (const part of strings.slice(0, -1)) {
    for (const character of part) kind = after(character, kind);
    if (kind === 'tag' && /=\s*$/.test(part)) throw new TypeError('an attribute without quotes');
    places.push(kind === 'value' ? { kind, isAddress: BEGINS_ADDRESS.test(part) } : { kind });
  }
  return places;
}

function after(character: string, kind: Place['kind']): Place['kind'] {
  if (kind === 'text') return character === '<' ? 'tag' : 'text';
  if (kind === 'value') return character === '"' ? 'tag' : 'value';
  if (character === "'") throw new TypeError('attributes are quoted with double quotes');
  if (character === '"') return 'value';
  return character === '>' ? 'text' : 'tag';
}
