/** An element as it stands in the text; what is in it comes after it, and `text` is what it says, decoded. */
export type Element = {
  name: string;
  attributes: Map<string, string>;
  parent: Element | undefined;
  text: string;
};

const VOID = new Set(['meta', 'link', 'img', 'input', 'br']);
const TOKEN =
  /<!doctype html>|<(?<name>[a-z][a-z0-9]*)(?<attributes>(?:\s+[a-zA-Z-]+(?:="[^"<>]*")?)*)\s*(?<closed>\/?)>|<\/(?<end>[a-z][a-z0-9]*)>|(?<text>[^<>]+)/gy;
const ATTRIBUTE = /(?<key>[a-zA-Z-]+)(?:="(?<value>[^"]*)")?/g;
const CHARACTERS: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/**
 * Reads markup of the strict kind that the pages are written in, which every HTML parser reads the same way:
 * each element closed, each value in double quotes, no `<`, `>` or `&` but as it must be. Anything else throws.
 */
export function parseMarkup(source: string): Element[] {
  const elements: Element[] = [];
  const open: Element[] = [];
  let at = 0;
  while (at < source.length) {
    TOKEN.lastIndex = at;
    const groups = TOKEN.exec(source)?.groups;
    if (!groups) throw new Error(`not strict markup: ${source.slice(at, at + 60)}`);
    at = TOKEN.lastIndex;
    if (groups.text !== undefined) {
      const text = decode(groups.text);
      for (const element of open) element.text += text;
    } else if (groups.end !== undefined) {
      if (open.pop()?.name !== groups.end) throw new Error(`</${groups.end}> closes nothing`);
    } else if (groups.name !== undefined) {
      const { name } = groups;
      const element = {
        name,
        attributes: attributesOf(groups.attributes ?? ''),
        parent: open.at(-1),
        text: '',
      };
      elements.push(element);
      if (!groups.closed && !VOID.has(name)) open.push(element);
    }
  }
  if (open.length > 0) throw new Error(`<${open.at(-1)?.name}> is not closed`);
  return elements;
}

function attributesOf(source: string): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const { groups } of source.matchAll(ATTRIBUTE)) {
    const { key = '', value = '' } = groups ?? {};
    if (attributes.has(key)) throw new Error(`${key} stands twice`);
    attributes.set(key, decode(value));
  }
  return attributes;
}

function decode(text: string): string {
  return text.replace(/&(?<name>[^;\s]*;?)/g, (whole, name: string) => {
    const character = name.endsWith(';') ? CHARACTERS[name.slice(0, -1)] : undefined;
    if (character === undefined) throw new Error(`${whole} is no entity of ours`);
    return character;
  });
}

/** Whether the element is in one of that name. */
export function isIn(element: Element, name: string): boolean {
  for (let it = element.parent; it; it = it.parent) if (it.name === name) return true;
  return false;
}

/** The form that the element belongs to. */
export function formOf(element: Element, elements: readonly Element[]): Element | undefined {
  const id = element.attributes.get('form');
  if (id !== undefined) return elements.find((it) => it.name === 'form' && it.attributes.get('id') === id);
  let it = element.parent;
  while (it && it.name !== 'form') it = it.parent;
  return it;
}
