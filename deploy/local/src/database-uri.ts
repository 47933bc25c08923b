/**
 * The URI of a service's own database, named after the URI's database (by default `gatehouse`) and the service. Without an
 * authSource, credentials belong to the database in the URI, so that becomes the authSource.
 */
export function databaseUri(uri: string, service: string): string {
  const match = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(uri);
  const [, base = uri, named = '', query = ''] = match ?? [];
  const parameters = new URLSearchParams(query);
  if (named !== '' && base.includes('@') && !parameters.has('authSource'))
    parameters.set('authSource', named);
  const database = named === '' ? `gatehouse_${service}` : `${named}_${service}`;
  return `${base}/${database}?${parameters}`;
}
