import { type Content, html } from '@gatehouse/web/html';

/** The tokens that are marked, in the order in which they are matched; text without a match stays as it is. */
type Grammar = readonly (readonly [kind: string, pattern: RegExp])[];

const STRING = ['string', /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/] as const;
const NUMBER = ['number', /\b\d+(?:\.\d+)?\b/] as const;
const HASH_COMMENT = ['comment', /(?<=^|\s)#.*/m] as const;

const SHELL: Grammar = [
  HASH_COMMENT,
  // A string in a shell contains variables, but they are seldom what matters in it.
  ['string', /"(?:[^"\\]|\\[\s\S])*"|'[^']*'/],
  ['name', /\$\w+|\$\{[^}]*\}|\b[A-Z][A-Z\d_]*(?==)/],
  ['keyword', /(?<=^|\| )(?:curl|npm|npx|docker|git|node|openssl|mongosh|mongodump|sed)\b/m],
];
const JSON_GRAMMAR: Grammar = [
  ['name', /"(?:[^"\\]|\\.)*"(?=\s*:)/],
  STRING,
  NUMBER,
  ['keyword', /\b(?:true|false|null)\b/],
];
const SCRIPT: Grammar = [
  ['comment', /(?<!:)\/\/.*|\/\*[\s\S]*?\*\//],
  ['string', /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`/],
  [
    'keyword',
    /\b(?:async|await|class|const|else|export|for|from|function|if|import|let|new|public|return|throw|try|true|false|null)\b/,
  ],
  NUMBER,
];
const PYTHON: Grammar = [
  HASH_COMMENT,
  STRING,
  ['keyword', /\b(?:as|class|def|else|for|from|if|import|in|not|print|return|with|True|False|None)\b/],
  NUMBER,
];
const SETTINGS: Grammar = [HASH_COMMENT, ['name', /^\s*-?\s*[\w.-]+(?=:|=)/m], STRING];
const HTTP: Grammar = [
  ['keyword', /^(?:GET|POST|PUT|PATCH|DELETE|HTTP\/[\d.]+)\b/m],
  ['name', /^[A-Za-z-]+(?=:)/m],
];

const GO: Grammar = [
  ['comment', /(?<!:)\/\/.*/],
  ['string', /"(?:[^"\\\n]|\\.)*"|`[^`]*`/],
  ['keyword', /\b(?:const|else|for|func|if|import|map|nil|package|range|return|type|var)\b/],
  NUMBER,
];
const GRAMMARS: Readonly<Record<string, Grammar>> = {
  sh: SHELL,
  bash: SHELL,
  json: JSON_GRAMMAR,
  python: PYTHON,
  yaml: SETTINGS,
  http: HTTP,
  js: SCRIPT,
  ts: SCRIPT,
  java: SCRIPT,
  go: GO,
};

/** Code with comments, strings and the like marked by classes; as it is in a language that is not known. */
export function highlight(code: string, language: string): Content {
  const grammar = GRAMMARS[language];
  if (grammar === undefined) return code;
  const pattern = new RegExp(grammar.map(([, { source }]) => `(${source})`).join('|'), 'gm');
  const parts: Content[] = [];
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const index = match.slice(1).findIndex((group) => group !== undefined);
    parts.push(
      code.slice(end, match.index),
      html`<span class="${`code-${grammar[index]?.[0]}`}">${match[0]}</span>`,
    );
    end = match.index + match[0].length;
  }
  return [...parts, code.slice(end)];
}
