import { hasCode, type Id, newId } from '@caisson/contract';
import type { Caisson, SandboxHandle } from '@caisson/sdk';
import { expect } from 'vitest';
import { treeSum } from '../e2e/tree-sum.ts';
import { type SandboxWorld, spec } from './sandbox-world.ts';

/** What was asked without learning the answer. It is asked again with the same key before anything else is. */
type Asked =
  | { readonly what: 'create' | 'turn' | 'snapshot'; readonly key: string }
  | { readonly what: 'rollback' | 'restore' | 'delete'; readonly key: string; readonly snapshot: string }
  | { readonly what: 'write'; readonly key: Id<'process'>; readonly script: string };

const maxSnapshots = 6;

/**
 * Writes, keeps, changes and goes back in a sandbox of its own, and knows the digest of every tree that it has kept. After
 * a kill the sandbox must have one of the trees that it may have, and every snapshot exactly its own.
 */
export class TravelClient {
  acknowledged = 0;
  rollbacks = 0;
  readonly #world: SandboxWorld;
  readonly #random: () => number;
  readonly #kept = new Map<string, string>();
  #sandbox: SandboxHandle | undefined;
  #now = '';
  #lastTurn = 0;
  #asked: Asked | undefined;

  constructor(world: SandboxWorld, random: () => number) {
    this.#world = world;
    this.#random = random;
  }

  /** Works until the server goes away under it, or until told. */
  async work(caisson: Caisson, goOn: () => boolean): Promise<void> {
    try {
      while (goOn()) await this.#do(caisson, this.#asked ?? this.#next());
    } catch (error) {
      if (!hasCode(error, 'server_unreachable')) throw error;
    }
  }

  /** That it moves: one that stood still for a snapshot when its server was killed goes on. */
  async answered(): Promise<void> {
    if (!this.#sandbox || this.#asked?.what === 'rollback') return;
    expect((await this.#sandbox.exec('echo here')).stdout).toBe('here\n');
  }

  /** After a restart. */
  async check(caisson: Caisson, when: string): Promise<void> {
    const sandbox = this.#sandbox;
    if (sandbox) await this.#checkTree(sandbox, when);
    if (this.#asked) await this.#do(caisson, this.#asked);
    if (!this.#sandbox) return;
    expect((await this.#sandbox.refresh()).record, when).toMatchObject({ state: 'ready', reason: null });
    if (this.#asked === undefined) expect(await treeSum(this.#sandbox), when).toBe(this.#now);
    const listed: string[] = [];
    for await (const { id } of caisson.snapshots.list({ sandbox: this.#sandbox.id })) listed.push(id);
    expect(listed.sort(), `${when}: the snapshots of ${this.#sandbox.id}`).toEqual([...this.#kept.keys()].sort());
    const one = this.#pick();
    if (one !== undefined) await this.#checkSnapshot(caisson, one, when);
  }

  /** Every snapshot, by going back to each. */
  async checkAll(caisson: Caisson, when: string): Promise<void> {
    for (const [id, sum] of this.#kept) {
      await this.#of(caisson).rollback(id);
      expect(await treeSum(this.#of(caisson)), `${when}: ${id}`).toBe(sum);
    }
  }

  #next(): Asked {
    const key = newId('request');
    const snapshot = this.#pick();
    const choice = this.#random();
    if (!this.#sandbox) return { what: 'create', key };
    if (snapshot === undefined || choice < 0.25)
      return { what: 'write', key: newId('process'), script: this.#script() };
    if (choice < 0.65 && this.#kept.size < maxSnapshots)
      return { what: this.#random() < 0.5 ? 'turn' : 'snapshot', key };
    if (choice < 0.85) return { what: 'rollback', key, snapshot };
    return choice < 0.93 ? { what: 'delete', key, snapshot } : { what: 'restore', key, snapshot };
  }

  async #do(caisson: Caisson, asked: Asked): Promise<void> {
    this.#asked = asked;
    const { key: idempotencyKey } = asked;
    if (asked.what === 'create') {
      const sandbox = await caisson.sandboxes.create({ spec, waitSeconds: 30 }, { idempotencyKey });
      await this.#world.note(sandbox);
      this.#now = await treeSum(sandbox);
      this.#sandbox = sandbox;
      this.#asked = { what: 'snapshot', key: newId('request') };
      return this.#do(caisson, this.#asked);
    }
    const sandbox = this.#of(caisson);
    if (asked.what === 'write') {
      // Asked again with its own id it is the same process, which ends by itself.
      const writer = await sandbox.processes.start(asked.script, { process: asked.key, user: 'root' });
      expect(await writer.wait()).toMatchObject({ exitCode: 0 });
      this.#now = await treeSum(sandbox);
    } else if (asked.what === 'turn' || asked.what === 'snapshot') {
      const made = await sandbox[asked.what === 'turn' ? 'turnComplete' : 'snapshot']({}, { idempotencyKey });
      this.#kept.set(made.id, this.#now);
      if (asked.what === 'turn') {
        expect(made.turn).toBeGreaterThan(this.#lastTurn);
        this.#lastTurn = made.turn ?? 0;
      }
    } else if (asked.what === 'rollback') {
      await sandbox.rollback(asked.snapshot, { idempotencyKey, waitSeconds: 30 });
      this.#now = this.#kept.get(asked.snapshot) ?? 'nothing';
      this.rollbacks += 1;
      expect(await treeSum(sandbox), `${sandbox.id} after its rollback to ${asked.snapshot}`).toBe(this.#now);
    } else if (asked.what === 'delete') {
      await caisson.snapshots.delete(asked.snapshot).catch((error) => {
        if (!hasCode(error, 'snapshot_not_found')) throw error;
      });
      this.#kept.delete(asked.snapshot);
    } else if (asked.what === 'restore') {
      await this.#checkSnapshot(caisson, asked.snapshot, 'restored', idempotencyKey);
    }
    this.#asked = undefined;
    this.acknowledged += 1;
  }

  /** What it may hold now; a write may be half-way. */
  async #checkTree(sandbox: SandboxHandle, when: string): Promise<void> {
    const asked = this.#asked;
    if (asked?.what === 'write') return;
    const allowed = [this.#now, ...(asked?.what === 'rollback' ? [this.#kept.get(asked.snapshot)] : [])];
    const { record } = await (await sandbox.refresh()).untilSettled();
    const what = `${when}: ${sandbox.id} ${record.state} ${record.reason?.message ?? ''}`;
    expect(record.state, what).toBe('ready');
    expect(allowed.includes(await treeSum(sandbox)), `${what} has a tree that was never there`).toBe(true);
  }

  async #checkSnapshot(caisson: Caisson, id: string, when: string, idempotencyKey?: string): Promise<void> {
    const options = idempotencyKey === undefined ? {} : { idempotencyKey };
    const restored = await caisson.snapshots.restore(id, { waitSeconds: 30 }, options);
    // Asked again, it is the one that was made before the kill, and perhaps destroyed.
    if ((await (await restored.refresh()).untilSettled()).state === 'destroyed' && idempotencyKey) return;
    expect(restored.record, `${when}: ${id}`).toMatchObject({ state: 'ready', reason: null });
    expect(await treeSum(restored), `${when}: ${id}`).toBe(this.#kept.get(id));
    await restored.destroy();
  }

  /** The handle is of a client that may be older than its server; only the address matters. */
  #of(_: Caisson): SandboxHandle {
    if (!this.#sandbox) throw new Error('there is no sandbox yet');
    return this.#sandbox;
  }

  #pick(): string | undefined {
    const all = [...this.#kept.keys()];
    return all[Math.floor(this.#random() * all.length)];
  }

  /** Names, modes, links, folders that go and come, and enough bytes to be met in the middle. */
  #script(): string {
    const [n, size] = [Math.floor(this.#random() * 1e6), 1 + Math.floor(this.#random() * 40)];
    return [
      'set -e; cd /workspace',
      `rm -rf d$((${n} % 4)); mkdir -p d$((${n} % 5))/e`,
      `for i in $(seq 1 12); do echo ${n} $i >d$((${n} % 5))/f$i; done`,
      `chmod $((600 + ${n} % 8)) d$((${n} % 5))/f1; ln -sfn f${n} d$((${n} % 5))/l`,
      `head -c ${size * 50_000} /dev/zero | tr '\\0' '${n % 10}' >big; mv big d$((${n} % 5))/e/big`,
    ].join('; ');
  }
}
