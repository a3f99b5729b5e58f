import { hasCode, type Id, type Owner, type Sandbox, type Step } from '@caisson/contract';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Database } from '../../packages/server/src/store/database.ts';
import type { PayTerms } from '../../packages/server/src/store/meters.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { balancesOfLedger } from './ledger-sums.ts';
import { makeDestroyed, newAttempt, newSandbox, noLimits, outcomes, put } from './store-fixtures.ts';

const hour = 3_600_000;
/** An hour of running costs 3600: one micro-unit for each second. */
const terms: PayTerms = { rates: { runningMicros: 3_600, pausedMicros: 1_800, stoppedMicros: 360 }, holdMs: hour };

/** Credits, on whichever store. `raw` is the same database without the store before it. */
export function describeCredits(open: () => Store, raw: () => Promise<Database>): void {
  describe('credits', () => {
    let count = 0;
    const newOwner = async (amountMicros?: number): Promise<Owner> => {
      count += 1;
      const tenant = `credit-${count}`;
      if (amountMicros !== undefined) await open().credits.grant({ tenant, amountMicros });
      return { tenant, project: 'web', principal: 'ada' };
    };
    const balance = ({ tenant }: Owner) => open().credits.balance(tenant);
    const make = (owner: Owner, change: object = {}) => put(open(), { owner, terms, ...change });
    const ready = async (owner: Owner, change: object = {}) => {
      const entered = await open().sandboxes.step(await make(owner, change), {
        action: 'create',
        enter: 'provisioning',
      });
      return (await open().sandboxes.step(entered.sandbox, { action: 'create', end: 'success' })).sandbox;
    };
    const walk = async (sandbox: Sandbox, ...steps: Step[]) => {
      let standing = sandbox;
      for (const step of steps) standing = (await open().sandboxes.step(standing, step)).sandbox;
      return standing;
    };
    const agrees = async () => {
      const { db, close } = await raw();
      const sums = await balancesOfLedger(db).finally(close);
      expect(sums.wrong).toEqual([]);
    };

    test('a tenant that nobody gave credits is without limit, and nothing is written for it', async () => {
      const owner = await newOwner();
      await make(owner, { terms: undefined });
      expect(await balance(owner)).toMatchObject({ limited: false, heldMicros: 0 });
      expect(await open().credits.history(owner.tenant, { limit: 10 })).toEqual([]);
    });

    test('two hundred creates at once hold what there is and not one micro-unit more', async () => {
      const owner = await newOwner(3_600 * 50 + 3_599);
      // More at once than there are connections: who waits too long for one comes again.
      const insist = async (): Promise<Sandbox> =>
        make(owner).catch((error) => {
          if (hasCode(error, 'database_unavailable')) return insist();
          throw error;
        });
      expect(await outcomes(Array.from({ length: 200 }, insist))).toEqual({
        ok: 50,
        insufficient_credits: 150,
      });
      expect(await balance(owner)).toMatchObject({ availableMicros: 3_599, heldMicros: 3_600 * 50 });
      await agrees();
    }, 120_000);

    test('a refusal says what is needed and what is there, and leaves nothing behind', async () => {
      const owner = await newOwner(3_599);
      const sandbox = newSandbox({ owner, terms });
      await expect(open().sandboxes.create(sandbox, newAttempt(), noLimits)).rejects.toMatchObject({
        code: 'insufficient_credits',
        context: { neededMicros: 3_600, availableMicros: 3_599, perHourMicros: 3_600 },
      });
      expect(await open().sandboxes.get(sandbox.id)).toBeUndefined();
    });

    test('a backend without a price is refused to those who pay', async () => {
      const owner = await newOwner(1_000_000);
      await expect(make(owner, { terms: { ...terms, rates: null } })).rejects.toMatchObject({ code: 'price_unknown' });
    });

    test('only the time to the end of its lease is set aside', async () => {
      const owner = await newOwner(10_000);
      await make(owner, { expiresAt: Date.now() + 600_000 });
      const { heldMicros } = await balance(owner);
      expect(heldMicros).toBeGreaterThan(590);
      expect(heldMicros).toBeLessThanOrEqual(600);
    });

    test('what was used is charged, and the end gives the rest back', async () => {
      const owner = await newOwner(10_000);
      const sandbox = await ready(owner);
      await open().credits.settle(sandbox.id, Date.now() + 1_000_000);
      const between = await balance(owner);
      expect(between.usedMicros).toBeGreaterThanOrEqual(1_000);
      expect(between.usedMicros).toBeLessThan(1_060);
      await makeDestroyed(open(), sandbox);
      const after = await balance(owner);
      expect(after).toMatchObject({ heldMicros: 0, usedMicros: between.usedMicros });
      expect(after.availableMicros).toBe(10_000 - after.usedMicros);
      await agrees();
    });

    test('a paused sandbox holds less than one that runs, a stopped one less than that', async () => {
      const owner = await newOwner(100_000);
      const sandbox = await ready(owner);
      const paused = await walk(sandbox, { action: 'pause', enter: 'pausing' }, { action: 'pause', end: 'success' });
      expect((await balance(owner)).heldMicros).toBe(1_800);
      await walk(paused, { action: 'stop', enter: 'stopping' }, { action: 'stop', end: 'success' });
      expect((await balance(owner)).heldMicros).toBe(360);
      await agrees();
    });

    test('what begins to cost more is refused when there is not enough, and stays as it was', async () => {
      const owner = await newOwner(3_600);
      const sandbox = await ready(owner);
      const paused = await walk(sandbox, { action: 'pause', enter: 'pausing' }, { action: 'pause', end: 'success' });
      await open().credits.grant({ tenant: owner.tenant, amountMicros: -(await balance(owner)).availableMicros });
      await expect(walk(paused, { action: 'resume', enter: 'resuming' })).rejects.toMatchObject({
        code: 'insufficient_credits',
      });
      expect(await open().sandboxes.get(paused.id)).toEqual(paused);
      await agrees();
    });

    test('what is used when nothing is left is written off, and no balance falls below nothing', async () => {
      const owner = await newOwner(5_000);
      const sandbox = await ready(owner);
      const reading = await open().credits.settle(sandbox.id, Date.now() + 3 * hour);
      expect(reading).toMatchObject({ isLow: true, becameLow: true, held: 0 });
      const { availableMicros, heldMicros, usedMicros, unpaidMicros } = await balance(owner);
      expect({ availableMicros, heldMicros, usedMicros }).toEqual({
        availableMicros: 0,
        heldMicros: 0,
        usedMicros: 5_000,
      });
      expect(unpaidMicros).toBeGreaterThanOrEqual(5_800);
      await agrees();
    });

    test('each stretch of use is told once, at its price', async () => {
      const owner = await newOwner(100_000);
      const size = { cpuMillis: 500, memoryMiB: 256, diskMiB: 1_024 };
      const sandbox = await ready(owner, { size });
      await open().credits.settle(sandbox.id, Date.now() + 2_000_000);
      await makeDestroyed(open(), sandbox);
      const records = await open().usage.list({ tenant: owner.tenant, after: 0, limit: 10 });
      const [first] = records;
      expect(first).toMatchObject({
        sandbox: sandbox.id,
        phase: 'running',
        cpus: 0.5,
        memoryMiB: 256,
        perHourMicros: 3_600,
      });
      const charged = records.reduce((sum, record) => sum + record.chargedMicros, 0);
      expect(charged).toBe((await balance(owner)).usedMicros);
    });

    test('a grant with the same reference counts once, also at the same moment', async () => {
      const owner = await newOwner();
      const grant = () => open().credits.grant({ tenant: owner.tenant, amountMicros: 700, reference: 'invoice 7' });
      expect(await outcomes(Array.from({ length: 10 }, grant))).toEqual({ ok: 10 });
      expect((await balance(owner)).availableMicros).toBe(700);
      const other = open().credits.grant({ tenant: owner.tenant, amountMicros: 701, reference: 'invoice 7' });
      await expect(other).rejects.toMatchObject({ code: 'request_invalid' });
    });

    test('more than there is cannot be taken back', async () => {
      const owner = await newOwner(100);
      const take = (amountMicros: number) => open().credits.grant({ tenant: owner.tenant, amountMicros });
      await expect(take(-101)).rejects.toMatchObject({ code: 'insufficient_credits' });
      await take(-100);
      expect(await balance(owner)).toMatchObject({ limited: true, availableMicros: 0 });
    });

    test('what is held for a sandbox that is gone is given back', async () => {
      const owner = await newOwner(10_000);
      const { id } = await ready(owner);
      const { db, close } = await raw();
      await sql`update sandboxes set state = 'destroyed' where id = ${id}`.execute(db);
      await close();
      expect(await open().credits.releaseOrphans()).toEqual([{ sandbox: id, tenant: owner.tenant, released: 3_600 }]);
      expect(await balance(owner)).toMatchObject({ availableMicros: 10_000, heldMicros: 0 });
      expect(await open().credits.releaseOrphans()).toEqual([]);
      await agrees();
    });

    test('a move to another backend costs what that costs', async () => {
      const owner = await newOwner(10_000);
      const entered = await walk(await make(owner), { action: 'create', enter: 'provisioning' });
      const route = { strategy: 'explicit', chosen: { driver: 'fake', host: 'here' }, candidates: [] } as never;
      const failed = { driver: 'fake', host: 'here', reason: { code: 'driver_failed', message: 'x' }, ms: 1 } as const;
      const to = { driver: 'cloud', host: 'here' };
      const move = (micros: number | null) => {
        const rates = micros === null ? null : { runningMicros: micros, pausedMicros: 0, stoppedMicros: 0 };
        return open().routes.move(entered, to, route, failed, () => rates);
      };
      await expect(move(null)).rejects.toMatchObject({ code: 'price_unknown' });
      await expect(move(20_000)).rejects.toMatchObject({ code: 'insufficient_credits' });
      await move(7_200);
      expect((await balance(owner)).heldMicros).toBe(7_200);
    });

    test('switched off, nothing is held or refused, and what is used is told; switched on, it pays again', async () => {
      const owner = await newOwner(3_600);
      const { tenant } = owner;
      const store = open();
      const now = Date.now();
      const paid = await ready(owner);
      await store.credits.settle(paid.id, now + 100_000);
      const { usedMicros } = await balance(owner);
      await store.credits.switch(tenant, false);
      await store.credits.settle(paid.id, now + 100_000);
      expect(await balance(owner)).toMatchObject({ off: true, limited: false, heldMicros: 0, usedMicros });
      const free = await ready(owner);
      const unknown = await make(owner, { terms: { ...terms, rates: null } });
      await store.credits.settle(free.id, now + 10 * hour);
      await store.credits.settle(paid.id, now + 10 * hour);
      expect(await balance(owner)).toMatchObject({ heldMicros: 0, usedMicros, unpaidMicros: 0 });
      const told = await store.usage.list({ tenant, sandbox: free.id, after: 0, limit: 10 });
      expect(told).toMatchObject([{ phase: 'running', perHourMicros: 3_600, chargedMicros: 0, unpaidMicros: 0 }]);
      await store.credits.switch(tenant, true);
      expect(await store.credits.running(tenant)).toEqual([paid.id, free.id, unknown.id].sort());
      await store.credits.settle(paid.id, now + 10 * hour);
      expect(await store.credits.settle(free.id, now + 10 * hour)).toMatchObject({ becameLow: true });
      expect(await balance(owner)).toMatchObject({ off: false, limited: true, heldMicros: 3_600 - usedMicros });
      await expect(make(owner)).rejects.toMatchObject({ code: 'insufficient_credits' });
      await agrees();
    });

    test('a meter that a switch has not reached is due, until it is read', async () => {
      const owner = await newOwner(100_000);
      const { id } = await ready(owner);
      const isDue = async () => (await open().credits.due(0, 1_000)).includes(id);
      for (const on of [false, true]) {
        expect(await isDue()).toBe(false);
        await open().credits.switch(owner.tenant, on);
        expect(await isDue()).toBe(true);
        await open().credits.settle(id);
      }
      expect(await isDue()).toBe(false);
    });

    test('a switch that meets many creates leaves nothing held', async () => {
      const owner = await newOwner(3_600 * 20);
      const creates = Array.from({ length: 10 }, () => make(owner));
      await open().credits.switch(owner.tenant, false);
      for (const { id } of await Promise.all(creates)) await open().credits.settle(id);
      expect(await balance(owner)).toMatchObject({ availableMicros: 3_600 * 20, heldMicros: 0 });
      await agrees();
    });

    test('history is told newest first, in pages, with where each came from', async () => {
      const owner = await newOwner(10_000);
      const sandbox = await make(owner);
      await makeDestroyed(open(), sandbox);
      const [release, hold] = await open().credits.history(owner.tenant, { limit: 2 });
      expect(release).toMatchObject({ kind: 'release', amountMicros: 3_600, from: 'held', to: 'available' });
      expect(hold).toMatchObject({ kind: 'hold', sandbox: sandbox.id });
      const [grant] = await open().credits.history(owner.tenant, { limit: 2, before: hold?.position ?? 0 });
      expect(grant).toMatchObject({ kind: 'grant', amountMicros: 10_000, from: 'granted' });
    });

    test('neither the ledger nor the record of use can be changed', async () => {
      const { db, close } = await raw();
      await expect(sql`update ledger set amount = 0`.execute(db)).rejects.toThrow('append-only');
      await expect(sql`delete from ledger`.execute(db)).rejects.toThrow('append-only');
      await expect(sql`delete from usage`.execute(db)).rejects.toThrow('append-only');
      await close();
    });

    test('a meter that costs nothing is never due', async () => {
      const owner = await newOwner(0);
      const free: PayTerms = { rates: { runningMicros: 0, pausedMicros: 0, stoppedMicros: 0 }, holdMs: hour };
      const { id } = await ready(owner, { terms: free });
      const due: Id<'sandbox'>[] = await open().credits.due(Date.now() + hour, 1_000);
      expect(due).not.toContain(id);
    });
  });
}
