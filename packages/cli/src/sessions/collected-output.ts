import { isUtf8 } from 'node:buffer';

/** Of each stream; the same as the API gives in one answer. */
const maxBytes = 1024 * 1024;

/** Output for one JSON document: the beginning of each stream, and whether there was more. */
export class CollectedOutput {
  readonly #pieces = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  readonly #bytes = { stdout: 0, stderr: 0 };
  #truncated = false;

  take(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    const piece = bytes.slice(0, maxBytes - this.#bytes[stream]);
    this.#truncated ||= piece.byteLength < bytes.byteLength;
    this.#bytes[stream] += piece.byteLength;
    if (piece.byteLength > 0) this.#pieces[stream].push(piece);
  }

  toJSON(): { stdout: string; stderr: string; encoding: 'utf8' | 'base64'; truncated: boolean } {
    const stdout = Buffer.concat(this.#pieces.stdout);
    const stderr = Buffer.concat(this.#pieces.stderr);
    const encoding = isUtf8(stdout) && isUtf8(stderr) ? 'utf8' : 'base64';
    const truncated = this.#truncated;
    return { stdout: stdout.toString(encoding), stderr: stderr.toString(encoding), encoding, truncated };
  }
}
