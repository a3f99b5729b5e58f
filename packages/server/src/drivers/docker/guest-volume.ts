import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { seccompProfile } from '../../isolation/seccomp.ts';
import type { Engine } from './engine.ts';
import { containersForm, readPathStat, volumeForm, volumesForm } from './engine-answers.ts';

/** Where the volume is seen by the container that fills it, which never runs. */
const place = '/caisson';
const program = 'guest';
const volumePrefix = 'caisson-guest-';
const filter = 'seccomp.json';
const block = 512;

/**
 * What of ours has to be on the engine's machine, wherever that is: the guest program, and the filter of calls as a file.
 * It lies in a volume that is named by its content, filled once, and shown read-only to every container. No image is
 * changed, no container waits for a copy, and none can touch the program.
 */
export class GuestVolume {
  readonly name: string;
  readonly #engine: Engine;
  readonly #installation: string;
  /** The program last: when that is whole, so is the rest. */
  readonly #files: readonly VolumeFile[];
  #filled: Promise<string> | undefined;

  constructor(engine: Engine, guestProgram: string, installation: string) {
    this.#engine = engine;
    this.#installation = installation;
    this.#files = [
      { name: filter, mode: '0000644', content: Buffer.from(JSON.stringify(seccompProfile(process.arch, true))) },
      { name: program, mode: '0000755', content: readFileSync(guestProgram) },
    ];
    const hash = createHash('sha256');
    for (const { content } of this.#files) hash.update(content);
    this.name = `${volumePrefix}${hash.digest('hex').slice(0, 24)}`;
  }

  /** Once for each process; `image` is any that the engine has: what is filled belongs to a container of some image. */
  async ensure(image: string, signal: AbortSignal): Promise<Filter> {
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
    const folder = await Promise.race([filling, left]).finally(() => signal.removeEventListener('abort', leave));
    return { path: `${folder}/${filter}`, text: this.#files[0]?.content.toString() ?? '' };
  }

  /** Somebody removed it: the next one looks again. */
  forget(): void {
    this.#filled = undefined;
  }

  /** Answers where it lies on the engine's machine. */
  async #fill(image: string): Promise<string> {
    const { signal } = new AbortController();
    const loader = `caisson-loader-${randomBytes(8).toString('hex')}`;
    const labels = { 'caisson.loader': this.name };
    await this.#sweep(signal);
    const volume = await this.#engine.call('POST', '/volumes/create', {
      form: volumeForm,
      body: { Name: this.name, Labels: { ...labels, 'caisson.installation': this.#installation } },
      signal,
    });
    const HostConfig = { NetworkMode: 'none', Mounts: [{ Type: 'volume', Source: this.name, Target: place }] };
    await this.#engine.call('POST', '/containers/create', {
      query: { name: loader },
      body: { Image: image, Entrypoint: ['/'], Cmd: [], Labels: labels, HostConfig },
      signal,
    });
    try {
      if (!(await this.#isThere(loader, signal))) {
        const query = { path: place };
        await this.#engine.upload('PUT', `/containers/${loader}/archive`, tarOf(this.#files), { query, signal });
      }
    } finally {
      await this.#remove(loader, signal);
    }
    await this.#removeOlder(signal).catch(() => {});
    return volume.body.Mountpoint;
  }

  async #isThere(loader: string, signal: AbortSignal): Promise<boolean> {
    const { status, headers } = await this.#engine.call('HEAD', `/containers/${loader}/archive`, {
      query: { path: `${place}/${program}` },
      accept: [404],
      signal,
    });
    // One that a killed server was writing is shorter.
    return status !== 404 && readPathStat(headers)?.size === this.#files.at(-1)?.content.length;
  }

  /**
   * Those that earlier versions of this installation filled. An engine keeps a volume that some container has, also one
   * that does not run; it goes another time. Another installation that shares one of them fills it again.
   */
  async #removeOlder(signal: AbortSignal): Promise<void> {
    const query = { filters: JSON.stringify({ label: [`caisson.installation=${this.#installation}`] }) };
    const { body } = await this.#engine.call('GET', '/volumes', { form: volumesForm, query, signal });
    const older = (body.Volumes ?? []).filter(({ Name }) => Name.startsWith(volumePrefix) && Name !== this.name);
    for (const { Name } of older) await this.#engine.call('DELETE', `/volumes/${Name}`, { accept: [404, 409], signal });
  }

  /** What a killed server left. One that is at work just now is younger. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const query = { all: true, filters: JSON.stringify({ label: [`caisson.loader=${this.name}`] }) };
    const { body } = await this.#engine.call('GET', '/containers/json', {
      form: containersForm,
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

/** The filter of calls, as a file on the engine's machine and as it is. */
export interface Filter {
  readonly path: string;
  readonly text: string;
}

interface VolumeFile {
  readonly name: string;
  readonly mode: string;
  readonly content: Buffer;
}

function tarOf(files: readonly VolumeFile[]): Buffer {
  return Buffer.concat([...files.map(memberOf), Buffer.alloc(2 * block)]);
}

function memberOf({ name, mode, content }: VolumeFile): Buffer {
  const header = Buffer.alloc(block);
  header.write(name, 0);
  header.write(`${mode}\x00${'0000000\x00'.repeat(2)}`, 100);
  header.write(`${content.length.toString(8).padStart(11, '0')}\x00${'0'.repeat(11)}\x00`, 124);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\x00 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((block - (content.length % block)) % block)]);
}
