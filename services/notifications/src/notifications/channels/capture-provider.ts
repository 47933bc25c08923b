import { writeMessageFile } from '@gatehouse/mail/message-file';
import type { Provider } from './provider.ts';

/** Writes messages to files instead of sending them; `show` says where one would go to. */
export function createCaptureProvider<A>(options: {
  directory: string;
  type: string;
  show: (address: A) => string;
}): Provider<A> {
  const { directory, type, show } = options;
  return {
    async send({ id, subject, text }, address) {
      const now = new Date();
      const head = `To: ${show(address)}\nType: ${type}\nNotification: ${id}\nDate: ${now.toUTCString()}${subject === undefined ? '' : `\nSubject: ${subject}`}`;
      await writeMessageFile(directory, { now, kind: type, content: `${head}\n\n${text}\n` });
      return { providerId: null };
    },
    async check() {},
    stop() {},
  };
}
