import { type Content, type Html, html } from '@gatehouse/web/html';
import { lexer, type Token, type Tokens } from 'marked';
import { highlight } from '../../pages/highlight.ts';
import { codeBlock } from '../../pages/parts.ts';

export type Heading = { level: number; id: string; text: string };
/** The text below a heading; the part before the first one has no id. */
export type Section = { id: string; heading: string; text: string };

export type Rendered = {
  /** The text of the heading of level 1, which is not in the body. */
  title: string;
  body: Html;
  /** The headings of level 2 and 3, in their order. */
  headings: readonly Heading[];
  sections: readonly Section[];
};

export type MarkdownOptions = {
  /** The address for a link; undefined where there is none, and the text stands alone. */
  linkTo?: (href: string) => string | undefined;
  /** Stands before the ids on the page. */
  idPrefix?: string;
};

/**
 * Renders Markdown (CommonMark with GitHub's tables). Every element is made by `html`, which escapes; markup in the text
 * is shown as text. Headings have the anchors that GitHub gives them.
 */
export function renderMarkdown(text: string, options: MarkdownOptions = {}): Rendered {
  const { linkTo = outside, idPrefix = '' } = options;
  const ids = new Map<string, number>();
  const headings: Heading[] = [];
  const sections: Section[] = [{ id: '', heading: '', text: '' }];
  let title = '';
  let blocks = 0;
  let tables = 0;

  const inline = inlineRenderer(linkTo);

  function block(token: Token): Content {
    switch (token.type) {
      case 'heading':
        return heading(token as Tokens.Heading);
      case 'paragraph':
        return html`<p>${inline(token.tokens)}</p>`;
      case 'text':
        // The text of a list item.
        return token.tokens === undefined ? token.text : inline(token.tokens);
      case 'code':
        return code(token as Tokens.Code);
      case 'blockquote':
        return html`<blockquote>${token.tokens?.map(block)}</blockquote>`;
      case 'list':
        return list(token as Tokens.List);
      case 'table':
        return table(token as Tokens.Table);
      case 'hr':
        return html`<hr>`;
      case 'html':
        if (!/^\s*<!--[\s\S]*-->\s*$/.test(token.raw)) return html`<p>${token.raw}</p>`;
        return undefined;
      default:
        // `space` and `def`, which show nothing.
        return undefined;
    }
  }

  function heading({ depth, tokens }: Tokens.Heading): Content {
    const plain = plainText(tokens);
    if (depth === 1) {
      title ||= plain;
      return undefined;
    }
    const slug = slugOf(plain);
    const before = ids.get(slug) ?? 0;
    ids.set(slug, before + 1);
    const id = `${idPrefix}${slug}${before === 0 ? '' : `-${before}`}`;
    sections.push({ id, heading: plain, text: '' });
    if (depth <= 3) headings.push({ level: depth, id, text: plain });
    const content = html`<a class="anchor" href="#${id}">${tokens.map((it) => inline(it.type === 'link' ? it.tokens : [it]))}</a>`;
    if (depth === 2) return html`<h2 id="${id}">${content}</h2>`;
    return depth === 3 ? html`<h3 id="${id}">${content}</h3>` : html`<h4 id="${id}">${content}</h4>`;
  }

  function code({ text: lines, lang = '' }: Tokens.Code): Html {
    blocks += 1;
    const [language = ''] = lang.split(/\s/, 1);
    return codeBlock(`${idPrefix}code-${blocks}`, highlight(lines, language));
  }

  function list({ ordered, start, items, loose }: Tokens.List): Html {
    const entries = items.map(({ tokens }) => {
      // The text of an item of a list that is not loose is no paragraph.
      const content = tokens.map((it) =>
        loose && it.type === 'text' ? html`<p>${block(it)}</p>` : block(it),
      );
      return html`<li>${content}</li>`;
    });
    if (!ordered) return html`<ul>${entries}</ul>`;
    return html`<ol${typeof start === 'number' && start !== 1 && html` start="${start}"`}>${entries}</ol>`;
  }

  function table({ header, rows }: Tokens.Table): Html {
    tables += 1;
    const titles = header.map(({ tokens }) => plainText(tokens));
    const label = titles.join(', ');
    return html`<div class="table" role="region" tabindex="0" aria-label="${`Table ${tables}: ${label}`}"><table class="stacked"><thead><tr>${header.map(
      ({ tokens }) => (tokens.length === 0 ? html`<td></td>` : html`<th scope="col">${inline(tokens)}</th>`),
    )}</tr></thead><tbody>${rows.map(
      (row) =>
        html`<tr>${row.map(({ tokens }, i) => html`<td data-label="${titles[i]}"><div>${inline(tokens, true)}</div></td>`)}</tr>`,
    )}</tbody></table></div>`;
  }

  const body: Content[] = [];
  for (const token of lexer(text)) {
    body.push(block(token));
    const section = sections.at(-1);
    if (section !== undefined && token.type !== 'heading') section.text += ` ${plainText([token])}`;
  }
  return {
    title,
    body: html`${body}`,
    headings,
    sections: sections.map((it) => ({ ...it, text: it.text.replaceAll(/\s+/g, ' ').trim() })),
  };
}

/** Returns a function that renders the text within a block. */
function inlineRenderer(linkTo: NonNullable<MarkdownOptions['linkTo']>) {
  /** `breaks`: long words may be broken, where they have a sign for it. */
  function inline(tokens: readonly Token[] = [], breaks = false): Content {
    const shown = (words: string) => (breaks ? withBreaks(words) : words);
    return tokens.map((token) => {
      switch (token.type) {
        case 'strong':
          return html`<strong>${inline(token.tokens, breaks)}</strong>`;
        case 'em':
          return html`<em>${inline(token.tokens, breaks)}</em>`;
        case 'del':
          return html`<del>${inline(token.tokens, breaks)}</del>`;
        case 'codespan':
          return html`<code>${shown(token.text)}</code>`;
        case 'br':
          return html`<br>`;
        case 'link': {
          const address = linkTo(token.href);
          if (address === undefined) return inline(token.tokens, breaks);
          return html`<a href="${address}">${inline(token.tokens, breaks)}</a>`;
        }
        case 'image':
          return token.text;
        case 'html':
          return token.raw;
        default:
          return childrenOf(token) === undefined ? shown(textOf(token)) : inline(childrenOf(token), breaks);
      }
    });
  }
  return inline;
}

const ABSOLUTE = /^(?:https?:\/\/|\/(?!\/)|#)[^\s\\\p{Cc}]*$/iu;

/** Other sites, paths of this one, and parts of the page; no other schemes. */
export function outside(href: string): string | undefined {
  return ABSOLUTE.test(href) ? href : undefined;
}

/** The words, without what marks them up. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table;
        return [header, ...rows].map((row) => row.map((cell) => plainText(cell.tokens)).join(' ')).join(' ');
      }
      if (token.type === 'list')
        return (token as Tokens.List).items.map((it) => plainText(it.tokens)).join(' ');
      const children = childrenOf(token);
      return children === undefined ? textOf(token) : plainText(children);
    })
    .join('');
}

function childrenOf(token: Token): readonly Token[] | undefined {
  return 'tokens' in token ? token.tokens : undefined;
}

function textOf(token: Token): string {
  return 'text' in token ? String(token.text) : ' ';
}

/** Words longer than this may be broken in a table. */
const LONG_WORD = 12;

/** Text whose long words may be broken after punctuation, such as paths, URLs and names with underscores. */
function withBreaks(text: string): Content {
  return text.split(/(\s+)/).map((word) => {
    if (word.length <= LONG_WORD) return word;
    return word
      .split(/(?<=[\p{L}\p{N}}\]][_/.,:=&?-]+)(?=[\p{L}\p{N}{])/u)
      .map((part, i) => (i === 0 ? part : html`<wbr>${part}`));
  });
}

/** The anchor that GitHub gives a heading: small letters, words joined by hyphens, no punctuation. */
function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
