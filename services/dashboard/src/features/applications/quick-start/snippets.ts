import type { AppType } from '../../../api/application-types.ts';
import { machineCurl, machineFetch, machineOpenidClient, machinePython } from './machine.ts';
import { browserFetch, browserOpenidClient, nativeOpenidClient } from './public.ts';
import { resourceCurl, resourceOpenidClient } from './resource.ts';
import type { Sample, Snippet } from './sample.ts';
import { webCurl, webOpenidClient, webPython } from './web.ts';

const SNIPPETS: Record<AppType, readonly ((sample: Sample) => Snippet)[]> = {
  machine: [machineCurl, machineOpenidClient, machineFetch, machinePython],
  web: [webCurl, webOpenidClient, webPython],
  spa: [browserOpenidClient, browserFetch],
  native: [nativeOpenidClient],
  resource: [resourceCurl, resourceOpenidClient],
};

/** Complete programs for each way to use an application of this type, with its own ids filled in. */
export function snippetsOf(type: AppType, sample: Sample): Snippet[] {
  return SNIPPETS[type].map((snippetOf) => snippetOf(sample));
}
