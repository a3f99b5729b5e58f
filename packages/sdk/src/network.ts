import { type ChangeNetwork, canonicalEgressEntry, hasCode, type SandboxNetwork } from '@caisson/contract';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';

/** Others may change the same rules meanwhile; this many times in a row are an accident, more are a defect. */
const maxRounds = 20;

type Lists = Pick<SandboxNetwork, 'allow' | 'deny'>;

/**
 * What one sandbox may reach. A change holds when its call answers: what the new rules forbid is closed by then. Entries
 * are written as in a spec: `npm`, `example.com`, `*.example.com:443`, `192.0.2.0/24`.
 */
export class Network {
  readonly #connection: Connection;
  readonly #params: { readonly id: string };

  constructor(connection: Connection, sandbox: string) {
    this.#connection = connection;
    this.#params = { id: sandbox };
  }

  get(options: CallOptions = {}): Promise<SandboxNetwork> {
    return this.#connection.call('network.get', { params: this.#params, ...options });
  }

  /** Each part that is given takes the place of the old one. With `revision` only while nobody else has changed them. */
  set(change: ChangeNetwork, options: CallOptions = {}): Promise<SandboxNetwork> {
    return this.#connection.call('network.set', { params: this.#params, body: change, ...options });
  }

  /** Lists entries as allowed, and no longer as denied. Others that change the rules at the same time lose nothing. */
  allow(entries: string | readonly string[], options: CallOptions = {}): Promise<SandboxNetwork> {
    const added = canonical(entries);
    return this.#change(({ allow, deny }) => ({ allow: union(allow, added), deny: without(deny, added) }), options);
  }

  /** Lists entries as denied, which is stronger than allowed. */
  deny(entries: string | readonly string[], options: CallOptions = {}): Promise<SandboxNetwork> {
    const added = canonical(entries);
    return this.#change(({ allow, deny }) => ({ allow: without(allow, added), deny: union(deny, added) }), options);
  }

  /** Takes entries off both lists. */
  remove(entries: string | readonly string[], options: CallOptions = {}): Promise<SandboxNetwork> {
    const gone = canonical(entries);
    return this.#change(({ allow, deny }) => ({ allow: without(allow, gone), deny: without(deny, gone) }), options);
  }

  async #change(alter: (present: Lists) => Lists, options: CallOptions): Promise<SandboxNetwork> {
    for (let round = 1; ; round += 1) {
      const present = await this.get(options);
      try {
        return await this.set({ ...alter(present), revision: present.revision }, options);
      } catch (error) {
        if (round === maxRounds || !hasCode(error, 'state_changed')) throw error;
      }
    }
  }
}

function canonical(entries: string | readonly string[]): string[] {
  return (typeof entries === 'string' ? [entries] : [...entries]).map(canonicalEgressEntry);
}

function union(list: readonly string[], added: readonly string[]): string[] {
  return [...new Set([...list, ...added])];
}

function without(list: readonly string[], gone: readonly string[]): string[] {
  return list.filter((entry) => !gone.includes(entry));
}
