import { join, relative } from 'node:path';
import { styleText } from 'node:util';
import { OUTBOX_DIRECTORY } from './data-dir.ts';
import { demoFile } from './demo.ts';
import type { LocalSettings } from './settings.ts';

type Banner = Pick<LocalSettings, 'publicUrl' | 'dataDir'> & {
  /** The kinds of messages, and whether they are sent instead of being kept. */
  isSent: Readonly<Record<string, boolean>>;
  /** The kind of database, for messages. */
  database: string;
};

/**
 * The banner that npm start prints when it is ready, in colour on a terminal with colours. The commands read the
 * credentials from their file; none are printed.
 */
export function banner({ publicUrl: baseUrl, dataDir, database, isSent }: Banner): string {
  const credentials = displayPath(demoFile(dataDir));
  const machine = 'm=JSON.parse(fs.readFileSync(process.argv[1])).machine;m.client_id+":"+m.client_secret';
  const token =
    `TOKEN=$(curl -s ${baseUrl}/oauth2/token -d grant_type=client_credentials ` +
    `-u "$(node -p '${machine}' ${shellQuoted(credentials)})" ` +
    `| node -p 'JSON.parse(fs.readFileSync(0)).access_token'); echo $TOKEN`;
  const list = `curl -sw '\\n' ${baseUrl}/v1/users -H "authorization: Bearer $TOKEN"`;
  return `
  ${bold(`Gatehouse is ready at ${baseUrl}`)}

  ${dim('Dashboard')}    ${baseUrl}/dashboard: sign in as demo to build an application, or as admin to manage everything
  ${dim('Docs')}         ${baseUrl}/docs
  ${dim('Credentials')}  ${credentials}
  ${dim('Messages')}     ${messages(displayPath(join(dataDir, OUTBOX_DIRECTORY)), isSent)}
  ${dim('Database')}     ${database}; it also keeps events and queues, in place of NATS

  In another terminal, get an access token:

${command(token)}

  Then list the users:

${command(list)}

  Ctrl-C stops Gatehouse. ${bold('npm run reset')} forgets all that it has stored.
  ${bold('LOG_LEVEL=info npm start')} shows every request.

`;
}

/** Where messages go. */
function messages(outbox: string, isSent: Banner['isSent']): string {
  const [sent, kept] = [true, false].map((is) => Object.keys(isSent).filter((name) => isSent[name] === is));
  const words = (names: readonly string[] = []) => AND.format(names);
  const lines = [
    ...(kept?.length ? [`${outbox}: ${words(kept)} are kept there instead of being sent`] : []),
    ...(sent?.length ? [`${words(sent)} are sent`] : []),
    ...(isSent['mails about accounts'] === false
      ? ['the links of mails about accounts are printed here, too']
      : []),
  ];
  return lines.join(`;\n${' '.repeat(15)}`);
}

const AND = new Intl.ListFormat('en-GB');
const bold = (text: string) => styleText('bold', text, { stream: process.stdout });
const dim = (text: string) => styleText('dim', text, { stream: process.stdout });
const command = (text: string) => styleText('cyan', text, { stream: process.stdout });

/** A path relative to the working directory, if it is below it. */
function displayPath(path: string): string {
  const relativePath = relative(process.cwd(), path);
  if (relativePath.startsWith('..')) return path;
  // A path that begins with a hyphen must not be mistaken for an option.
  return relativePath.startsWith('-') ? `./${relativePath}` : relativePath;
}

/** A path quoted for a shell. */
function shellQuoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
