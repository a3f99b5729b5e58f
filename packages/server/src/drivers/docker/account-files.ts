import { posix } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { Engine } from './engine.ts';
import { readPathStat } from './engine-answers.ts';

/** Before it starts anything in a container an engine reads these, and waits for ever where one is a pipe. */
const files = ['/etc/passwd', '/etc/group'];
/** Filled only when the container runs: what a link finds there cannot be known, and may be anything. */
const mountedLater = /^\/(dev|proc|sys)(\/|$)/;
/** The bits of Go's file modes: what is none of these is a plain file. */
const linkBit = 0x0800_0000;
const typeBits = 0x8f28_0000;
/** Links of links; more of them are a trap. */
const linksMax = 8;
const knownMax = 10_000;

/**
 * Refuses a container that was shaped against its engine: a call that waits in the engine holds the container for ever,
 * and it could never be removed. Nothing is opened for it: the engine tells what is there.
 */
export class AccountFiles {
  readonly #engine: Engine;
  /** Images that mean the same for ever, and were found to be harmless. */
  readonly #known = new Set<string>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** `image`: what the container was made from, where nothing has run in it yet. */
  async require(container: string, signal: AbortSignal, image?: string): Promise<void> {
    const isLasting = image?.startsWith('sha256:') === true;
    if (isLasting && this.#known.has(image)) return;
    const found = await Promise.all(files.map((file) => isPlain(this.#engine, container, file, signal)));
    const odd = files.filter((_, n) => found[n] === false);
    if (odd.length > 0) {
      const what = `${odd.join(' and ')} of its root filesystem ${odd.length > 1 ? 'are' : 'is'} not a file`;
      throw new CaissonError('image_invalid', `${what}, and no sandbox is started with it`);
    }
    if (isLasting && this.#known.size < knownMax) this.#known.add(image);
  }
}

async function isPlain(engine: Engine, container: string, file: string, signal: AbortSignal): Promise<boolean> {
  let path = file;
  for (let links = 0; links <= linksMax; links += 1) {
    if (mountedLater.test(path)) return false;
    const { status, headers } = await engine.call('HEAD', `/containers/${container}/archive`, {
      query: { path },
      accept: [404, 400, 500],
      signal,
    });
    // What is not there is no trap; what cannot be looked at is not opened either.
    if (status === 404) return true;
    const stat = readPathStat(headers);
    if (status >= 400 || !stat) return false;
    if ((stat.mode & linkBit) === 0) return (stat.mode & typeBits) === 0;
    if (!stat.linkTarget) return false;
    path = posix.resolve(posix.dirname(path), stat.linkTarget);
  }
  return false;
}
