import { type FileHandle, open, stat } from 'node:fs/promises';
import type { CaissonEvent } from '@caisson/contract';
import { type EventSink, NotDelivered } from './sink.ts';

interface Line {
  readonly text: string;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * A file with one event a line, as JSON. What comes while one write is on its way to the disk is written together after
 * it. A file that was moved away is begun anew under its name, so that whoever rotates logs need not tell the server.
 */
export class FileSink implements EventSink {
  readonly parallel = 200;
  readonly #path: string;
  #file: FileHandle | undefined;
  #inode = 0;
  #lines: Line[] = [];
  #isWriting = false;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  deliver(event: CaissonEvent, signal: AbortSignal): Promise<void> {
    if (this.#isClosed || signal.aborted) return Promise.reject(new NotDelivered('the server is shutting down'));
    return new Promise((resolve, reject) => {
      const abort = () => reject(new NotDelivered('the server is shutting down'));
      const left = () => signal.removeEventListener('abort', abort);
      signal.addEventListener('abort', abort, { once: true });
      this.#lines.push({
        text: `${JSON.stringify(event)}\n`,
        resolve: () => {
          left();
          resolve();
        },
        reject: (error) => {
          left();
          reject(error);
        },
      });
      if (!this.#isWriting) this.#writing = this.#write();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    await this.#file?.close().catch(() => {});
    this.#file = undefined;
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#lines.length > 0) {
      const lines = this.#lines.splice(0);
      try {
        const file = await this.#opened();
        await file.appendFile(lines.map(({ text }) => text).join(''));
        await file.datasync();
        for (const line of lines) line.resolve();
      } catch (error) {
        await this.#file?.close().catch(() => {});
        this.#file = undefined;
        const why = new NotDelivered(`${this.#path} cannot be written: ${(error as Error).message}`);
        for (const line of lines) line.reject(why);
      }
    }
    // In the same step as the look for more: what comes next begins to write again.
    this.#isWriting = false;
  }

  /** The file that has the name now. */
  async #opened(): Promise<FileHandle> {
    const present = await stat(this.#path).catch(() => undefined);
    if (this.#file && present?.ino === this.#inode) return this.#file;
    await this.#file?.close().catch(() => {});
    this.#file = undefined;
    const file = await open(this.#path, 'a+', 0o600);
    try {
      const { ino, size } = await file.stat();
      // What a killed server left of a line stays one of its own.
      if (size > 0 && (await file.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0] !== 10) await file.appendFile('\n');
      this.#inode = ino;
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
    this.#file = file;
    return file;
  }
}
