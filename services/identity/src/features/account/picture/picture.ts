/** A picture that a person has uploaded, as it is stored and served. An account has one at most. */
export type Picture = { userId: string; token: string; bytes: Uint8Array; createdAt: Date };

/** The type of every stored picture. */
export const PICTURE_TYPE = 'image/webp';
export const MAX_UPLOAD_BYTES = 256 * 1024;
/** Of an upload. Four bytes of memory are needed for each, several times over. */
export const MAX_PIXELS = 8_000_000;
/** The longer side of a stored picture. */
export const MAX_SIDE = 512;

/** The types that people upload. */
export type UploadType = 'png' | 'jpeg' | 'webp';
type Header = { type: UploadType; width: number; height: number };

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
/** The markers of segments with the size of a picture: SOF0 to SOF15 without DHT, JPG and DAC (ITU-T T.81 table B.1). */
const SIZE_MARKER = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** The type and the size that a file names at its beginning; undefined for other files, and for an animation. */
export function readHeader(bytes: Buffer): Header | undefined {
  try {
    if (bytes.subarray(0, PNG.length).equals(PNG)) {
      return { type: 'png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
    }
    if (bytes.readUInt16BE(0) === 0xffd8) return readJpegHeader(bytes);
    const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
    return isWebp ? readWebpHeader(bytes) : undefined;
  } catch (error) {
    // The file ends before its size.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Segments that do not follow one another without a gap are refused: a decoder may find others among them. */
function readJpegHeader(bytes: Buffer): Header | undefined {
  for (let at = 2; bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt8(at + 1);
    if (SIZE_MARKER(marker)) {
      return { type: 'jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    // Only segments with a length come before the size.
    if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xda)) return undefined;
  }
  return undefined;
}

/** The first chunk has the size (RFC 9649 §2.5 to 2.7). */
function readWebpHeader(bytes: Buffer): Header | undefined {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return {
        type: 'webp',
        width: bytes.readUInt16LE(26) & 0x3fff,
        height: bytes.readUInt16LE(28) & 0x3fff,
      };
    case 'VP8L': {
      const size = bytes.readUInt32LE(21);
      return { type: 'webp', width: 1 + (size & 0x3fff), height: 1 + ((size >>> 14) & 0x3fff) };
    }
    case 'VP8X': {
      const isAnimation = (bytes.readUInt8(20) & 2) !== 0;
      const size = { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
      return isAnimation ? undefined : { type: 'webp', ...size };
    }
    default:
      return undefined;
  }
}
