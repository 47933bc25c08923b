/**
 * The URI for one service's own database: the name is the service's, after the URI's own database name where
 * it has one. Credentials stay valid: without an authSource, they belong to the database the URI named.
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
