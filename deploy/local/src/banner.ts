import { relative } from 'node:path';
import { demoFile } from './demo.ts';

/** What npm start prints when it is ready. The commands take the credentials from the file: none is printed. */
export function banner(baseUrl: string, dataDir: string, mongo: string): string {
  const file = demoFile(dataDir);
  const near = relative(process.cwd(), file);
  // A name that begins with a hyphen must not be taken for an option.
  const shown = near.startsWith('..') ? file : near.startsWith('-') ? `./${near}` : near;
  const quoted = shown.replaceAll("'", String.raw`'\''`);
  const body = `JSON.stringify({grant_type:"client_credentials",...JSON.parse(fs.readFileSync(process.argv[1])).machine})`;
  const token =
    `curl -s ${baseUrl}/oauth/token -H 'content-type: application/json' ` +
    `-d "$(node -p '${body}' '${quoted}')"`;
  const bearer = `$(${token} | node -p 'JSON.parse(fs.readFileSync(0)).access_token')`;
  return [
    '',
    `  Gatehouse is ready at ${baseUrl}`,
    `  People sign in at ${baseUrl}/account`,
    `  Credentials to try it with are in ${shown}; the database is the ${mongo}.`,
    '',
    '  Get an access token:',
    '',
    token,
    '',
    '  List the users with one:',
    '',
    `curl -s ${baseUrl}/v1/users -H "authorization: Bearer ${bearer}"`,
    '',
    '',
  ].join('\n');
}
