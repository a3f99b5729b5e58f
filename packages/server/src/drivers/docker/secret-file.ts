import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Secrets } from '@caisson/guest';

/** What only this server knows of an instance. Everything else is on the engine. */
export interface InstanceSecrets extends Secrets {
  /** Its guest has answered: its creation was not cut short. */
  readonly ready: boolean;
}

/**
 * The secrets of one guest, in a file of the server's own user. Not on the engine: whoever may look at containers there
 * sees labels and environment. It is written before the container is made, and goes after it.
 */
export class SecretFile {
  readonly #path: string;

  constructor(folder: string, name: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#path = join(folder, `${name}.json`);
  }

  read(): InstanceSecrets | undefined {
    try {
      const { current, next, ready } = JSON.parse(readFileSync(this.#path, 'utf8')) as Record<string, string | boolean>;
      const bytes = (hex: unknown) => Buffer.from(String(hex), 'hex');
      return { current: bytes(current), next: bytes(next), ready: ready === true };
    } catch (error) {
      // It is written whole: one that cannot be read is not ours.
      if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  write({ current, next, ready }: InstanceSecrets): void {
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
    writeFileSync(`${this.#path}.new`, JSON.stringify({ current: hex(current), next: hex(next), ready }), {
      mode: 0o600,
    });
    renameSync(`${this.#path}.new`, this.#path);
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}
