import { isLoopback } from '@gatehouse/core/web-uris';

/** Whether a text is an https URL; where `isLocal`, also one of this computer by http. */
export function isHttps(text: string, isLocal: boolean): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (isLocal && url.protocol === 'http:' && isLoopback(url));
}
