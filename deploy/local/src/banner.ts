import { join, relative } from 'node:path';
import { styleText } from 'node:util';
import { OUTBOX_DIRECTORY } from './data-dir.ts';
import { demoFile } from './demo.ts';

type Banner = {
  baseUrl: string;
  dataDir: string;
  /** What the database is, for people. */
  database: string;
};

/**
 * What npm start prints when it is ready, in colour on a terminal that has colours. The commands take the credentials
 * from their file: none is printed.
 */
export function banner({ baseUrl, dataDir, database }: Banner): string {
  const credentials = shown(demoFile(dataDir));
  const machine = 'm=JSON.parse(fs.readFileSync(process.argv[1])).machine;m.client_id+":"+m.client_secret';
  const token =
    `TOKEN=$(curl -s ${baseUrl}/oauth/token -d grant_type=client_credentials ` +
    `-u "$(node -p '${machine}' ${quoted(credentials)})" ` +
    `| node -p 'JSON.parse(fs.readFileSync(0)).access_token'); echo $TOKEN`;
  const list = `curl -s ${baseUrl}/v1/users -H "authorization: Bearer $TOKEN"`;
  return `
  ${bold(`Gatehouse is ready at ${baseUrl}`)}

  ${dim('Sign in')}      ${baseUrl}/account as admin or demo
  ${dim('Credentials')}  ${credentials}
  ${dim('Mails')}        ${shown(join(dataDir, OUTBOX_DIRECTORY))}; their links are printed here, too
  ${dim('Database')}     ${database}

  In another terminal, get an access token:

${command(token)}

  Then list the users:

${command(list)}

  Ctrl-C stops Gatehouse. ${bold('npm run reset')} forgets all that it has stored.
  ${bold('LOG_LEVEL=info npm start')} shows every request.

`;
}

const bold = (text: string) => styleText('bold', text, { stream: process.stdout });
const dim = (text: string) => styleText('dim', text, { stream: process.stdout });
const command = (text: string) => styleText('cyan', text, { stream: process.stdout });

/** A path as it is best typed from here. */
function shown(path: string): string {
  const near = relative(process.cwd(), path);
  if (near.startsWith('..')) return path;
  // A name that begins with a hyphen must not be taken for an option.
  return near.startsWith('-') ? `./${near}` : near;
}

/** As one word of a shell. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
