import { connect } from 'node:net';

const OP_MSG = 2013;

/**
 * The command {ping: 1} on the database admin in the wire protocol (OP_MSG: a header of four integers, flag bits, and a
 * body section, which is a BSON document).
 */
function pingMessage(): Buffer {
  const fields = Buffer.concat([
    Buffer.from('\x10ping\0\x01\0\0\0', 'latin1'),
    Buffer.from('\x02$db\0\x06\0\0\0admin\0', 'latin1'),
    Buffer.from([0]),
  ]);
  const message = Buffer.alloc(16 + 4 + 1 + 4 + fields.length);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(OP_MSG, 12);
  message.writeInt32LE(4 + fields.length, 21);
  fields.copy(message, 25);
  return message;
}

/** Whether a MongoDB server responds at the Unix socket within the time. */
export function respondsToPing(socketPath: string, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const settle = (responded: boolean) => {
      socket.destroy();
      resolve(responded);
    };
    socket.setTimeout(limitMs, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
    socket.once('connect', () => socket.write(pingMessage()));
    socket.once('data', () => settle(true));
  });
}
