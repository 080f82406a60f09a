// Frames, which carry batches on a byte stream (docs/protocol.md). Does no I/O: turns bytes into
// frames and back.
import { BadBytes, plain_bytes, view_of } from './bytes.js';

export const frame_envelope = 1;
/** The answer, or the state at this sequence, continues in a later frame of the request. */
export const frame_more = 2;
/** From a watch: an input as it arrived, rather than part of the state. */
export const frame_event = 4;
export const frame_pushed = 8;
const flags_known = frame_envelope | frame_more | frame_event | frame_pushed;
const header_bytes = 16;
const envelope_bytes = 32;
const batch_header_bytes = 32;

export interface Envelope {
  /** Sequence of the input, or of the state that contains the value. */
  sequence: bigint;
  /** The session that sent the input; 0n for the world itself. */
  session: bigint;
  /** The id of that session's request. */
  sender_request: bigint;
  clock_ns: bigint;
}

export interface Frame {
  flags: number;
  /** The request of the answered question or of the watch; 0n if there is none. */
  request: bigint;
  envelope: Envelope | null;
  /** Not verified yet. The receiver owns its memory. */
  batch: Uint8Array;
}

export function encode_frame(
  batch: Uint8Array,
  request: bigint | number,
  flags = 0,
  envelope: Envelope | null = null,
): Uint8Array {
  const head = header_bytes + (envelope ? envelope_bytes : 0);
  const bytes = new Uint8Array(head + batch.length);
  const view = view_of(bytes);
  view.setUint32(0, bytes.length, true);
  view.setUint32(4, (flags & ~frame_envelope) | (envelope ? frame_envelope : 0), true);
  view.setBigUint64(8, BigInt(request), true);
  if (envelope) {
    view.setBigUint64(16, envelope.sequence, true);
    view.setBigUint64(24, envelope.session, true);
    view.setBigUint64(32, envelope.sender_request, true);
    view.setBigUint64(40, envelope.clock_ns, true);
  }
  bytes.set(batch, head);
  return bytes;
}

/** Splits a byte stream into frames. Stores at most one incomplete frame. */
export class FrameDecoder {
  private readonly header = new Uint8Array(header_bytes);
  private header_held = 0;
  /** Pieces of the incomplete frame, once its length is known. */
  private pieces: Uint8Array[] = [];
  private held = 0;
  private wanted = 0;
  private fault: BadBytes | null = null;

  /** `envelopes` allows envelopes and flags in frames, which only frames to a client have. */
  constructor(
    public frame_bytes_max: number,
    private readonly envelopes = true,
  ) {}

  /**
   * Calls `take` for each frame that these bytes complete. The decoder then owns the bytes, and
   * frames may point into them. For an invalid header, throws BadBytes after taking the frames
   * before it, and again in all later calls.
   */
  receive(received: Uint8Array, take: (frame: Frame) => void): void {
    if (this.fault) throw this.fault;
    const bytes = plain_bytes(received);
    let at = 0;
    while (at < bytes.length) {
      if (this.wanted === 0) {
        const part = bytes.subarray(at, at + header_bytes - this.header_held);
        this.header.set(part, this.header_held);
        this.header_held += part.length;
        at += part.length;
        if (this.header_held < header_bytes) return;
        this.wanted = this.judge_header();
        // A frame that is completely in these bytes is not copied.
        const begin = at - header_bytes;
        if (begin >= 0 && begin + this.wanted <= bytes.length) {
          const frame = bytes.subarray(begin, begin + this.wanted);
          at = begin + this.wanted;
          this.restart();
          take(this.read(frame));
          continue;
        }
        this.pieces = [this.header.slice()];
        this.held = header_bytes;
      }
      const part = bytes.subarray(at, at + this.wanted - this.held);
      if (part.length > 0) this.pieces.push(part);
      this.held += part.length;
      at += part.length;
      if (this.held < this.wanted) return;
      const frame = new Uint8Array(this.wanted);
      let to = 0;
      for (const piece of this.pieces) {
        frame.set(piece, to);
        to += piece.length;
      }
      this.restart();
      take(this.read(frame));
    }
  }

  /** Call when the stream has ended. Throws BadBytes if it ended inside a frame. */
  finish(): void {
    if (this.fault) throw this.fault;
    const held = this.wanted > 0 ? this.held : this.header_held;
    if (held > 0) throw new BadBytes('ended_inside', `the stream ended ${held} bytes into a frame`);
  }

  private restart(): void {
    this.header_held = this.held = this.wanted = 0;
    this.pieces = [];
  }

  private fail(reason: string, text: string): never {
    throw (this.fault = new BadBytes(reason, text));
  }

  private judge_header(): number {
    const view = view_of(this.header);
    const bytes = view.getUint32(0, true);
    const flags = view.getUint32(4, true);
    if (bytes % 16 !== 0) this.fail('misaligned', `a frame of ${bytes} bytes; the size must be a multiple of 16`);
    if ((flags & ~flags_known) !== 0)
      this.fail('unknown_flag', `frame flags ${flags}; this version supports ${flags_known}`);
    const enveloped = (flags & frame_envelope) !== 0;
    if (enveloped && !this.envelopes)
      this.fail('unexpected_envelope', 'unexpected envelope in a frame to the server: only the server writes envelopes');
    if (flags !== 0 && !this.envelopes)
      this.fail('unknown_flag', `frame flags ${flags}; frames to the server have none`);
    const least = header_bytes + (enveloped ? envelope_bytes : 0) + batch_header_bytes;
    if (bytes < least) this.fail('too_short', `a frame of ${bytes} bytes; the minimum is ${least}`);
    if (bytes > this.frame_bytes_max)
      this.fail('oversized', `a frame of ${bytes} bytes; the limit is ${this.frame_bytes_max}`);
    return bytes;
  }

  private read(frame: Uint8Array): Frame {
    const view = view_of(frame);
    const flags = view.getUint32(4, true);
    const enveloped = (flags & frame_envelope) !== 0;
    return {
      flags,
      request: view.getBigUint64(8, true),
      envelope: enveloped
        ? {
            sequence: view.getBigUint64(16, true),
            session: view.getBigUint64(24, true),
            sender_request: view.getBigUint64(32, true),
            clock_ns: view.getBigUint64(40, true),
          }
        : null,
      batch: frame.subarray(header_bytes + (enveloped ? envelope_bytes : 0)),
    };
  }
}
