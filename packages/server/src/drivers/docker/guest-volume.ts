import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Engine } from './engine.ts';

/** Where the volume is seen by the container that fills it, which never runs. */
const place = '/caisson';
const file = 'guest';
const block = 512;

/**
 * The guest program on the engine, wherever that is: in a volume that is named by its content, filled once, and shown
 * read-only to every container. No image is changed, no container waits for a copy, and none can touch the program.
 */
export class GuestVolume {
  readonly name: string;
  readonly #engine: Engine;
  readonly #program: Buffer;
  #filled: Promise<void> | undefined;

  constructor(engine: Engine, program: string) {
    this.#engine = engine;
    this.#program = readFileSync(program);
    this.name = `caisson-guest-${createHash('sha256').update(this.#program).digest('hex').slice(0, 24)}`;
  }

  /** Once for each process; `image` is any that the engine has: what is filled belongs to a container of some image. */
  async ensure(image: string, signal: AbortSignal): Promise<void> {
    const filling = this.#filled ?? this.#fill(image);
    this.#filled = filling;
    filling.catch(() => this.forget());
    signal.throwIfAborted();
    // Many wait for it, and who leaves takes nobody along.
    let leave = () => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(signal.reason);
      signal.addEventListener('abort', leave, { once: true });
    });
    await Promise.race([filling, left]).finally(() => signal.removeEventListener('abort', leave));
  }

  /** Somebody removed it: the next one looks again. */
  forget(): void {
    this.#filled = undefined;
  }

  async #fill(image: string): Promise<void> {
    const { signal } = new AbortController();
    const loader = `caisson-loader-${createHash('sha256').update(`${this.name} ${process.pid} ${Math.random()}`).digest('hex').slice(0, 16)}`;
    const labels = { 'caisson.loader': this.name };
    await this.#sweep(signal);
    await this.#engine.call('POST', '/volumes/create', { body: { Name: this.name, Labels: labels }, signal });
    await this.#engine.call('POST', '/containers/create', {
      query: { name: loader },
      body: {
        Image: image,
        Entrypoint: ['/'],
        Cmd: [],
        Labels: labels,
        HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'volume', Source: this.name, Target: place }] },
      },
      signal,
    });
    try {
      if (await this.#isThere(loader, signal)) return;
      const query = { path: place };
      await this.#engine.upload('PUT', `/containers/${loader}/archive`, tarOf(this.#program), { query, signal });
    } finally {
      await this.#remove(loader, signal);
    }
  }

  async #isThere(loader: string, signal: AbortSignal): Promise<boolean> {
    const { status, headers } = await this.#engine.call('HEAD', `/containers/${loader}/archive`, {
      query: { path: `${place}/${file}` },
      accept: [404],
      signal,
    });
    const stat = headers['x-docker-container-path-stat'];
    if (status === 404 || typeof stat !== 'string') return false;
    const { size } = JSON.parse(Buffer.from(stat, 'base64').toString()) as { size?: number };
    // One that a killed server was writing is shorter.
    return size === this.#program.length;
  }

  /** What a killed server left. One that is at work just now is younger. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const query = { all: true, filters: JSON.stringify({ label: [`caisson.loader=${this.name}`] }) };
    const { body } = await this.#engine.call<{ Id: string; Created: number }[]>('GET', '/containers/json', {
      query,
      signal,
    });
    const old = body.filter(({ Created }) => Date.now() / 1000 - Created > 600);
    for (const { Id } of old) await this.#remove(Id, signal);
  }

  async #remove(loader: string, signal: AbortSignal): Promise<void> {
    await this.#engine.call('DELETE', `/containers/${loader}`, { query: { force: true }, accept: [404, 409], signal });
  }
}

/** One program in a tar. */
function tarOf(program: Buffer): Buffer {
  const header = Buffer.alloc(block);
  header.write(file, 0);
  header.write('0000755\x000000000\x000000000\x00', 100);
  header.write(`${program.length.toString(8).padStart(11, '0')}\x00${'0'.repeat(11)}\x00`, 124);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\x00 `, 148);
  const padding = Buffer.alloc((block - (program.length % block)) % block);
  return Buffer.concat([header, program, padding, Buffer.alloc(2 * block)]);
}
