import type { AppType } from '../../../api/application-types.ts';
import { MACHINE } from './machine.ts';
import { BROWSER, NATIVE } from './public.ts';
import { RESOURCE } from './resource.ts';
import type { Code, Sample, Snippet } from './sample.ts';
import { WEB } from './web.ts';

const SNIPPETS: Record<AppType, readonly Snippet[]> = {
  machine: MACHINE,
  web: WEB,
  spa: BROWSER,
  native: NATIVE,
  resource: RESOURCE,
};

/** Complete programs for each way to use an application of this type, with its own ids filled in. */
export function snippetsOf(type: AppType, sample: Sample): (Omit<Snippet, 'code'> & { code: Code })[] {
  return SNIPPETS[type].map((snippet) => ({ ...snippet, code: snippet.code(sample) }));
}
