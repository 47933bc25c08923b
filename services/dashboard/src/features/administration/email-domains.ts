import { asciiDomain } from '@gatehouse/domain/domain-name';
import type { Api } from '../../api/api.ts';
import { attempt } from '../../api/attempt.ts';
import type { ApiPage } from '../../api/pages.ts';
import type { Options } from '../../pages/fields.ts';

const MAX_DOMAINS = 6;
const NEWEST = { cursor: '', limit: 100, sortBy: 'createdAt', sortOrder: 'desc' };

/** The most frequent email domains of the newest users; none if the users cannot be had. */
export async function domainOptions(api: Api): Promise<Options> {
  const { value } = await attempt(api.get<ApiPage<{ email: string | null }>>('/kb/api/v1/users', NEWEST));
  const domains = (value?.data ?? []).flatMap(({ email }) => asciiDomain(email?.split('@')[1] ?? '') ?? []);
  return [...Map.groupBy(domains, (domain) => domain)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, MAX_DOMAINS)
    .map(([domain, same]) => [domain, `${same.length} of the ${domains.length} newest addresses`]);
}
