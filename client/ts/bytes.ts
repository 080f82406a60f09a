// Hashes and texts of the protocol, and the error for invalid bytes.

/** The error for invalid bytes from outside. `reason` is short and stable, for programs. */
export class BadBytes extends Error {
  constructor(
    readonly reason: string,
    text: string,
    /** Position of the invalid byte from the start of the input. */
    readonly offset = 0,
  ) {
    super(text);
    this.name = 'BadBytes';
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Decodes UTF-8. Invalid bytes become U+FFFD. */
export function text_of(bytes: Uint8Array): string {
  // Names are short and mostly ASCII, and a call to the decoder takes at least a microsecond.
  if (bytes.length > 64) return decoder.decode(bytes);
  let text = '';
  for (let i = 0; i < bytes.length; ++i) {
    if (bytes[i] > 127) return decoder.decode(bytes);
    text += String.fromCharCode(bytes[i]);
  }
  return text;
}

/** 32-bit FNV-1a of the text's UTF-8: ids of types ("game.Health") and of fields ("position.x"). */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of utf8(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

function ascii(text: string): boolean {
  for (let i = 0; i < text.length; ++i) if (text.charCodeAt(i) > 127) return false;
  return true;
}

/** 64-bit FNV-1a of the text's UTF-8, for `text` fields and fingerprints of layouts. */
export function hash64(text: string): bigint {
  // Multiplies by 2^40 + 0x1b3 in two halves of 32 bits.
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  const bytes = ascii(text) ? null : utf8(text);
  for (let i = 0, length = bytes ? bytes.length : text.length; i < length; ++i) {
    const byte = bytes ? bytes[i] : text.charCodeAt(i);
    low = (low ^ byte) >>> 0;
    const product = low * 0x1b3;
    const carried = Math.floor(product / 0x100000000);
    high = (Math.imul(high, 0x1b3) + carried + (low << 8)) >>> 0;
    low = product >>> 0;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}

export function from_base64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * Returns the same memory as a plain Uint8Array, because slice() of Node's Buffer does not copy.
 */
export function plain_bytes(bytes: Uint8Array): Uint8Array {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function view_of(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Rounds up to a multiple of `alignment`. Exact above 32 bits, for sizes computed from the peer's
 * counts.
 */
export function round_up(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}

/** A growing buffer for appended bytes. */
export class GrowingBytes {
  bytes = new Uint8Array(256);
  view = view_of(this.bytes);
  length = 0;

  /** Appends `count` zeros and returns their position. */
  add(count: number): number {
    const at = this.length;
    if (at + count > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.bytes.length * 2, at + count));
      larger.set(this.bytes.subarray(0, at));
      this.bytes = larger;
      this.view = view_of(larger);
    }
    this.length = at + count;
    return at;
  }

  align(alignment: number): void {
    this.add(round_up(this.length, alignment) - this.length);
  }

  /** Returns a copy of the written bytes. */
  take(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}
