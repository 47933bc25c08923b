import { crc32, deflateSync } from 'node:zlib';

/** 16 × 8 red pixels. */
export const JPEG = Buffer.from(
  '/9j/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01' +
    'T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/' +
    'xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAABAb/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCYAAq3/9k=',
  'base64',
);
/** The same as WebP: lossy, lossless, and with transparency. */
export const WEBPS = [
  'UklGRjQAAABXRUJQVlA4ICgAAACQAQCdASoQAAgAAsBMJaACdLoAA5gA/ujXHrz1McX/5mj9JvpN3MAA',
  'UklGRh4AAABXRUJQVlA4TBEAAAAvD8ABAAfQmTJ3pv+BiOh/AAA=',
  'UklGRlgAAABXRUJQVlA4WAoAAAAQAAAADwAABwAAQUxQSAoAAAABB1DEiAhERP8DVlA4ICgAAACQAQCdASoQAAgAAsBMJaACdLoAA5gA/ujXHrz1McX/5mj9JvpN3MAA',
].map((text) => Buffer.from(text, 'base64'));

function pngChunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, check]);
}

/** A PNG of one colour. `says` is the size in its header, if that is another one. */
export function png(
  width: number,
  height: number,
  {
    says = [width, height],
    colour = [200, 50, 50, 255],
  }: { says?: [number, number]; colour?: number[] } = {},
) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(says[0], 0);
  header.writeUInt32BE(says[1], 4);
  header.set([8, 6], 8);
  const row = Buffer.concat([Buffer.alloc(1), Buffer.alloc(width * 4, Buffer.from(colour))]);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    pngChunk('tEXt', Buffer.from('Comment\0secret-comment', 'latin1')),
    pngChunk('IDAT', deflateSync(Buffer.alloc(row.length * height, row))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** The picture with an Exif segment, in which are its orientation, turned to the right, and coordinates. */
export function withExif(jpeg: Buffer) {
  const [header, orientation] = [Buffer.from('Exif\0\0MM\0*\0\0\0\b', 'latin1'), Buffer.alloc(18)];
  // One entry of type SHORT (TIFF 6.0, section 2).
  orientation.set([0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6]);
  const content = Buffer.concat([
    header,
    orientation,
    Buffer.from('GPSLatitude 51.4779, GPSLongitude 0.0015'),
  ]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length + 2);
  return Buffer.concat([jpeg.subarray(0, 2), Buffer.from([0xff, 0xe1]), length, content, jpeg.subarray(2)]);
}

/** The field of the form with this file. */
export const upload = (bytes: Uint8Array | string) => ({
  file: new File([Buffer.from(bytes)], 'picture.png', { type: 'image/png' }),
});

/** The beginning of a progressive JPEG, and its last pass over the pixels. */
const PROGRESSIVE = Buffer.from(
  '/9j/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01' +
    'T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wgARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAA' +
    'AAT/xAAVAQEBAAAAAAAAAAAAAAAAAAAEBf/aAAwDAQACEAMQAAABlB6v/8QAFBABAAAAAAAAAAAAAAAAAAAAEP/aAAgBAQABBQI//8QAFBEBAAAAAAAAAAAA' +
    'AAAAAAAAAP/aAAgBAwEBPwF//8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAgEBPwF//8QAFBABAAAAAAAAAAAAAAAAAAAAEP/aAAgBAQAGPwI//8QAFBAB' +
    'AAAAAAAAAAAAAAAAAAAAEP/aAAgBAQABPyE//9oADAMBAAIAAwAAABD/AP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQMBAT8Qf//EABQRAQAAAAAAAAAA' +
    'AAAAAAAAAAD/2gAIAQIBAT8Qf//EABQQAQAAAAAAAAAAAAAAAAAAABD/2gAIAQEAAT8QP//Z',
  'base64',
);

/** A small JPEG that asks for 20,000 passes over 8 megapixels. */
export function manyScans() {
  const jpeg = Buffer.from(PROGRESSIVE.subarray(0, -2));
  jpeg.writeUInt32BE(0x0af00af0, jpeg.indexOf('ffc2', 'hex') + 5);
  const scan = jpeg.subarray(jpeg.lastIndexOf('ffda', 'hex'));
  return Buffer.concat([jpeg, ...new Array(20_000).fill(scan), PROGRESSIVE.subarray(-2)]);
}
