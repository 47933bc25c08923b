import { globSync, readFileSync } from 'node:fs';
import { basename, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { outside, type Rendered, renderMarkdown } from './markdown.ts';

/** For users of the interface, about how it works, or why it is as it is. */
export type Kind = 'guide' | 'background' | 'decision';

export type Guide = Rendered & {
  kind: Kind;
  /** Of the menu. */
  section: string;
  /** Relative to the repository's root. */
  file: string;
  /** The URL of its page. That of its Markdown ends with .md. */
  href: string;
  markdown: string;
};

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));

/** The guides in the order of the menu; others come in the last section. */
const SECTIONS: readonly [section: string, names: readonly string[]][] = [
  ['Start', ['build-on-it', 'command-line', 'run-it', 'migrating']],
  ['Sign people in', ['sign-in', 'identity-providers', 'lifetimes', 'integrators']],
  [
    'Machines',
    [
      'applications',
      'scopes',
      'ci-without-secrets',
      'kubernetes-without-secrets',
      'agents',
      'use-from-an-agent',
      'requests',
    ],
  ],
  ['Protect an API or MCP server', ['protect-your-api', 'protect-an-mcp-server', 'client-registration']],
  ['Webhooks', ['webhooks']],
  [
    'Operate',
    [
      ...[
        'deploy-with-docker',
        'deploy-to-kubernetes',
        'production',
        'audit-log',
        'configuration-file',
        'runbooks',
      ],
      'administration-api',
    ],
  ],
  [
    'Reference',
    [
      ...['errors', 'paging', 'filters', 'profiles', 'users-api', 'items-api', 'products-api'],
      ...['notifications-api', 'reports-api', 'analytics-api', 'adding-a-service'],
    ],
  ],
];
const ORDER = SECTIONS.flatMap(([, names]) => names);

/** Where the guides assume that everything is. */
const LAPTOP_URL = 'http://localhost:3000';

/**
 * The Markdown files of the repository that have pages, in the order in which they are listed.
 *
 * @param publicUrl where commands are to be sent
 */
export function readLibrary(publicUrl = LAPTOP_URL): readonly Guide[] {
  const files = globSync(['docs/*.md', 'docs/{guides,adr}/*.md', 'packages/*/guides/*.md'], { cwd: ROOT });
  const hrefs = new Map(files.map((file) => [file, hrefOf(file)]));
  const guides = files.map((file): Guide => {
    const linkTo = (href: string) => rewrite(href, file, hrefs);
    const text = readFileSync(posix.join(ROOT, file), 'utf8').replaceAll(LAPTOP_URL, publicUrl);
    const rendered = renderMarkdown(text, { linkTo });
    return {
      ...rendered,
      title: rendered.title || nameOf(file),
      kind: kindOf(file),
      section: sectionOf(file),
      file,
      href: hrefOf(file),
      markdown: text,
    };
  });
  return guides.sort((a, b) => rank(a) - rank(b) || (a.file < b.file ? -1 : 1));
}

/** The same, read when they are first needed. */
export function createLibrary(publicUrl: string): () => readonly Guide[] {
  let guides: readonly Guide[] | undefined;
  return () => {
    guides ??= readLibrary(publicUrl);
    return guides;
  };
}

function nameOf(file: string): string {
  return basename(file, '.md');
}

function hrefOf(file: string): string {
  return file.startsWith('docs/') ? `/${file.slice(0, -'.md'.length)}` : `/docs/guides/${nameOf(file)}`;
}

function kindOf(file: string): Kind {
  if (file.startsWith('docs/adr/')) return 'decision';
  return file.includes('/guides/') ? 'guide' : 'background';
}

function sectionOf(file: string): string {
  const found = SECTIONS.find(([, names]) => names.includes(nameOf(file))) ?? SECTIONS.at(-1);
  return found?.[0] ?? '';
}

function rank({ kind, file }: Guide): number {
  if (kind !== 'guide') return ORDER.length + (kind === 'background' ? 1 : 2);
  const index = ORDER.indexOf(nameOf(file));
  return index === -1 ? ORDER.length : index;
}

/**
 * Where a link in a file leads on these pages; undefined for a file that has no page. Links to other sites, to paths of
 * this one and within the page stay.
 */
function rewrite(href: string, file: string, hrefs: ReadonlyMap<string, string>): string | undefined {
  if (/^(?:[a-z][a-z\d+.-]*:|[/#])/i.test(href)) return outside(href);
  const [path = '', hash] = href.split('#', 2);
  const page = hrefs.get(posix.join(posix.dirname(file), path));
  return page === undefined ? undefined : page + (hash === undefined ? '' : `#${hash}`);
}
