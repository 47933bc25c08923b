import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@gatehouse/core/logger';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import { createOutbound } from '@gatehouse/outbound/outbound';

/** How long a person waits for the range service, in milliseconds. */
const TIMEOUT_MS = 1000;
/** Lengths in hexadecimal digits: the prefix that the range service gets, and the whole hash. */
const PREFIX = 5;
const HASH = 40;
/** More bytes than a line of the file has: the hash, a colon, a count and the end of the line. */
const LINE_BYTES = 64;

export type BreachedPasswords = {
  /** Whether a password is known from a breach (NIST SP 800-63B §5.1.1.2). False when that cannot be found out. */
  includes(password: string): Promise<boolean>;
  metrics(): MetricFamily[];
};

/**
 * Passwords in breaches, by their SHA-1 as Have I Been Pwned has them.
 *
 * @param options.url of a range service (https://haveibeenpwned.com/API/v3#SearchingPwnedPasswordsByRange), or of a file with the lines
 * `HASH:COUNT`, sorted, as the official downloader writes it
 */
export function createBreachedPasswords({
  url,
  logger,
}: {
  url: string;
  logger: Pick<Logger, 'warn'>;
}): BreachedPasswords {
  const outbound = createOutbound({ to: 'configured', timeoutMs: TIMEOUT_MS });
  const checks = { clear: 0, breached: 0, failed: 0 };

  async function isInRange(hash: string): Promise<boolean> {
    const headers = { 'add-padding': 'true', 'user-agent': 'gatehouse' };
    const { status, body } = await outbound.read(`${url.replace(/\/$/, '')}/${hash.slice(0, PREFIX)}`, {
      headers,
    });
    if (status !== 200) throw new Error(`the range service responded with the status ${status}`);
    // A line of padding has the count 0.
    const line = new RegExp(`^${hash.slice(PREFIX)}:0*[1-9]`, 'im');
    return line.test(body.toString('latin1'));
  }

  const isKnown = url.startsWith('file:') ? (hash: string) => isInFile(fileURLToPath(url), hash) : isInRange;
  return {
    async includes(password) {
      const hash = createHash('sha1').update(password.normalize('NFC')).digest('hex').toUpperCase();
      try {
        const found = await isKnown(hash);
        checks[found ? 'breached' : 'clear'] += 1;
        return found;
      } catch (err) {
        checks.failed += 1;
        logger.warn({ err }, 'a password could not be checked for breaches, and was accepted');
        return false;
      }
    },
    metrics: () => [
      {
        name: 'gatehouse_breached_password_checks_total',
        help: 'Checks of passwords for breaches. A password whose check failed was accepted.',
        type: 'counter',
        samples: Object.entries(checks).map(([outcome, value]) => ({ labels: { outcome }, value })),
      },
    ],
  };
}

/** Finds a line by binary search, and reads only the lines that it compares. */
async function isInFile(path: string, hash: string): Promise<boolean> {
  const file = await open(path);
  try {
    let [low, high] = [0, (await file.stat()).size];
    if (high === 0) throw new Error('the file of breached passwords is empty');
    const bytes = Buffer.alloc(2 * LINE_BYTES);
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const from = Math.max(0, middle - LINE_BYTES);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
      const text = bytes.toString('latin1', 0, bytesRead);
      const start = middle === from ? 0 : text.lastIndexOf('\n', middle - from - 1) + 1;
      const key = text.slice(start, start + HASH).toUpperCase();
      if (!/^[0-9A-F]{40}$/.test(key))
        throw new Error('a line of the file of breached passwords has no hash');
      if (key === hash) return true;
      const end = text.indexOf('\n', start);
      if (key > hash) high = from + start;
      else low = end === -1 ? high : from + end + 1;
    }
    return false;
  } finally {
    await file.close();
  }
}
