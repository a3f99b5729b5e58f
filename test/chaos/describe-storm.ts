import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import { wrongInBooks } from './books.ts';
import { allProcesses, firstProcesses, isAlive, isInSandbox, isProgramOn, killIf } from './own-processes.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';
import { chooseSeed, seeded } from './seeded.ts';
import { SmallDisk } from './small-disk.ts';
import { StormClient } from './storm-client.ts';

const clientCount = 4;
const diskMegabytes = 3_000;
const settleMs = 60_000 * slowness;
const nobodySettled = 'every record comes to rest';

/** Whoever pays and is limited has books that can be wrong. */
const prices = {
  asOf: '2026-11-15',
  entries: ['oci', 'docker'].map((driver) => ({ driver, perHour: 3_600_000, perCpuHour: 0, perGiBHour: 0 })),
};

/**
 * Many clients do whatever can be done, and meanwhile the server, guests, runtime processes, the Docker engine and Postgres
 * are killed, stopped and started, and the disk fills up once: each of these once in an order of chance, then at random
 * until the time is over. At the end every record is settled; records, runtimes, storage, control groups, leases, quotas,
 * places and the ledger agree; nothing acknowledged is lost, and nothing is left over.
 */
export function describeStorm(seconds: number): void {
  describe('a storm', () => {
    const closing: (() => unknown)[] = [];
    afterAll(async () => {
      for (const close of closing.reverse()) await close();
    }, 120_000 * slowness);

    test(`${seconds} s of it leave everything in order`, {
      timeout: (seconds + 240) * 1000 * slowness,
    }, async (context) => {
      const missing = whyNoSandboxes ?? whyNoEngine('docker');
      if (missing !== undefined) skip(context, missing);
      const seed = chooseSeed();
      const random = seeded(seed);
      const storm = await Storm.make(random, closing);
      const until = Date.now() + seconds * 1000;
      let isOver = false;
      const goOn = () => !isOver;
      const docker = { ...spec, os: { family: 'image', reference: 'localhost/tools:latest' } };
      const specs = [spec, spec, { ...docker, target: { runtime: { name: 'docker', mode: 'require' } } }];
      const clients = Array.from({ length: clientCount }, () => new StormClient(specs, random));
      const working = clients.map((client) => client.work(() => storm.world.client(), goOn));
      const blowing = storm
        .blow(() => Date.now() < until)
        .finally(() => {
          isOver = true;
        });
      await Promise.all([blowing, ...working]);
      await storm.calm();
      const calmAt = Date.now();
      const when = `seed ${seed}, after ${storm.done.join(', ')}`;
      await storm.settled(when);
      for (const client of clients) await client.check(when);
      await storm.world.stop();
      expect(await storm.books(calmAt), when).toEqual([]);
      await storm.start();
      const caisson = storm.world.client();
      const stale = async () => {
        const { items, unseen } = await caisson.hosts.stale();
        return [...items, ...unseen];
      };
      await expect.poll(stale, { timeout: settleMs, interval: 500, message: when }).toEqual([]);
      for (const client of clients) await client.checkSnapshots(caisson, when);
      expect(
        clients.flatMap((client) => client.mistakes),
        when,
      ).toEqual([]);
      expect(
        clients.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
        when,
      ).toBeGreaterThan(seconds / 2);
      await storm.world.noteAll();
      await storm.world.destroyAll();
      for await (const snapshot of caisson.snapshots.list()) await caisson.snapshots.delete(snapshot.id);
      await storm.world.stop();
      expect(await storm.books(Date.now()), when).toEqual([]);
      expect(await storm.world.leftovers(), when).toEqual([]);
      expect(await storm.containers(), when).toEqual([]);
    });
  });
}

class Storm {
  readonly world: SandboxWorld;
  /** What was done, in order. */
  readonly done: string[] = [];
  readonly #random: () => number;
  readonly #disk: SmallDisk;
  readonly #engine: RealEngine;
  readonly #postgres: Postgres;
  readonly #more: readonly string[];
  readonly #database: string;
  #wasFull = false;

  constructor(random: () => number, disk: SmallDisk, engine: RealEngine, postgres: Postgres) {
    this.#random = random;
    this.#disk = disk;
    this.#engine = engine;
    this.#postgres = postgres;
    this.world = new SandboxWorld({ folder: disk.folder });
    this.#database = postgres.database();
    this.#more = ['--database', this.#database, '--docker-host', engine.host];
    writeFileSync(join(this.world.folder, 'prices.json'), JSON.stringify(prices));
  }

  static async make(random: () => number, closing: (() => unknown)[]): Promise<Storm> {
    const disk = new SmallDisk(diskMegabytes);
    closing.push(() => disk.close());
    const postgres = await startPostgres();
    closing.push(() => postgres.close());
    const engine = await startEngine('docker');
    closing.push(() => engine.close());
    const storm = new Storm(random, disk, engine, postgres);
    closing.push(() => storm.world.close());
    await storm.start();
    const caisson = storm.world.client();
    await caisson.credits.add({ amountMicros: 1_000_000_000_000 });
    await caisson.tenancy.setQuota({ limits: { sandboxes: 10_000, snapshots: 10_000 } });
    const first = await caisson.sandboxes.create({ spec });
    await storm.world.runtimeFolder();
    await first.destroy();
    return storm;
  }

  /** One blow after the other, each at a random moment. */
  async blow(goOn: () => boolean): Promise<void> {
    const blows: Record<string, () => Promise<unknown>> = {
      'server killed': () => this.#killServer(),
      'server stopped for a moment': () => this.#stopServer(),
      'guest killed': async () => this.#killGuest(),
      'runtime killed': async () => this.#killRuntime(),
      'engine killed': () => this.#killEngine(),
      'Postgres crashed': () => this.#crashPostgres(),
      'disk full': () => this.#fillDisk(),
    };
    const names = Object.keys(blows);
    const first = this.#shuffled(names);
    while (first.length > 0 || goOn()) {
      await this.#pause(200 + this.#random() * 1_200);
      const name = first.pop() ?? names[Math.floor(this.#random() * names.length)] ?? '';
      if (name === 'disk full' && this.#wasFull) continue;
      this.done.push(name);
      await blows[name]?.();
    }
  }

  #shuffled(names: readonly string[]): string[] {
    const left = [...names];
    return names.flatMap(() => left.splice(Math.floor(this.#random() * left.length), 1));
  }

  /** What the books have wrong, while no server runs. */
  books(dueBy: number): Promise<string[]> {
    return wrongInBooks(this.#database, dueBy);
  }

  /** Everything that was broken is whole again. */
  async calm(): Promise<void> {
    this.#disk.clear();
    await this.world.kill();
    await this.start();
  }

  async settled(when: string): Promise<void> {
    const moving = async () => {
      const found: string[] = [];
      for await (const { record } of this.world.client({ retries: 5 }).sandboxes.list())
        if (record.action !== null) found.push(`${record.id} ${record.state}`);
      return found;
    };
    await expect.poll(moving, { timeout: settleMs, message: `${nobodySettled}: ${when}` }).toEqual([]);
  }

  /** Of any sandbox, as the engine knows them. */
  async containers(): Promise<string[]> {
    const signal = AbortSignal.timeout(30_000);
    const query = { all: true, filters: JSON.stringify({ label: ['caisson.installation'] }) };
    const { body } = await this.#engine.engine.call<{ Names: string[] }[]>('GET', '/containers/json', {
      query,
      signal,
    });
    return body.flatMap(({ Names }) => Names);
  }

  /** A disk that is full or a database that is away refuses a start; both come back. */
  async start(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.world.start(this.#more, ['oci', 'docker']);
        return;
      } catch (error) {
        if (tries === 20) throw error;
        await this.#pause(500);
      }
    }
  }

  async #killServer(): Promise<void> {
    await this.world.kill();
    await this.#pause(this.#random() * 300);
    await this.start();
  }

  async #stopServer(): Promise<void> {
    const { pid } = this.world.server;
    const isServer = isProgramOn(this.world.folder, /serve/);
    if (!killIf(pid, isServer, 'SIGSTOP')) return;
    await this.#pause(500);
    killIf(pid, isServer, 'SIGCONT');
  }

  async #killGuest(): Promise<void> {
    const folder = await this.world.runtimeFolder().catch(() => undefined);
    const found = folder === undefined ? [] : firstProcesses(folder);
    const one = found[Math.floor(this.#random() * found.length)];
    if (one) killIf(one.pid, isInSandbox(one.sandbox));
  }

  /** Whatever of the runtimes runs at the moment for this installation. */
  async #killRuntime(): Promise<void> {
    const folder = await this.world.runtimeFolder().catch(() => undefined);
    if (folder === undefined) return;
    const isRuntime = isProgramOn(folder, /(^|\/)(runc|crun)\0/);
    for (const pid of allProcesses()) killIf(pid, isRuntime);
  }

  async #killEngine(): Promise<void> {
    await this.#engine.kill();
    await this.#engine.start();
  }

  async #crashPostgres(): Promise<void> {
    await this.#postgres.crash();
    await this.#pause(300);
    await this.#postgres.start();
    // A server whose lock on the database broke with it ends itself; another takes its place.
    await this.#pause(500);
    if (!isAlive(this.world.server.pid)) await this.start();
  }

  async #fillDisk(): Promise<void> {
    this.#wasFull = true;
    this.#disk.fill();
    await this.#pause(2_000);
    this.#disk.clear();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }
}
