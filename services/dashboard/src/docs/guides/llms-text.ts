import { PRODUCT } from '@gatehouse/web/document';
import type { Guide } from './library.ts';

/** The contents of /llms.txt (https://llmstxt.org): the guides, each by the URL of its Markdown, by the sections of the menu. */
export function llmsText(library: readonly Guide[]): string {
  const guides = library.filter(({ kind }) => kind === 'guide');
  const sections = [...Map.groupBy(guides, ({ section }) => section)].map(
    ([section, its]) =>
      `## ${section}\n\n${its.map(({ title, href }) => `- [${title}](${href}.md)`).join('\n')}`,
  );
  const summary = `> ${PRODUCT} signs people in to applications, issues access tokens, and serves users, items, products and orders over one HTTP interface.`;
  const api = '## API\n\n- [OpenAPI document](/openapi.json): all operations of the interface';
  return `${[`# ${PRODUCT}`, summary, ...sections, api].join('\n\n')}\n`;
}
