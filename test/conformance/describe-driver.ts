import { type Id, newId, type Owner } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { afterEach, describe, expect, type TestContext, test } from 'vitest';
import {
  type Ability,
  abilityMethods,
  type CreateRequest,
  type Driver,
  hasAbility,
  type InstanceKey,
} from '../../packages/server/src/drivers/driver.ts';
import { describeGuest } from './describe-guest.ts';
import type { Inside } from './inside.ts';
import { type DeclaredSkip, skip, withSkips } from './skips.ts';

/** What a test wants of the runtime, as a spec has it. */
export interface RuntimeWish {
  readonly resources?: { readonly cpus?: number; readonly memoryMiB?: number; readonly pids?: number };
  readonly network?: { readonly mode: 'off' | 'open' };
  readonly readOnlyRoot?: boolean;
}

/** What a driver under test brings along. */
export interface DriverUnderTest {
  readonly driver: Driver;
  /** A driver in a new process over the same backend: nothing may be remembered in memory alone. */
  restart(): Promise<Driver>;
  /** Makes what a `create` needs beyond the blueprint: a root filesystem or an image. */
  request(key: InstanceKey, owner: Owner, runtime?: RuntimeWish): Promise<CreateRequest>;
  /** The way into an instance where it is not the driver's own guest. */
  inside?(driver: Driver, key: InstanceKey): Promise<Inside>;
  /** A driver over the same backend whose `create` hangs half-way. */
  hanging?(): Promise<Driver>;
  /** Removes the instance behind the driver's back. */
  removeBehindItsBack(key: InstanceKey): Promise<void>;
  /** Puts an instance without an owner onto the backend; answers what the backend calls it. */
  makeOrphan(): Promise<string>;
  close(): Promise<void>;
}

/** One suite for every driver: the laws of driver.ts, one test each. */
export function describeDriver(
  name: string,
  make: () => Promise<DriverUnderTest>,
  options: {
    skip?: readonly DeclaredSkip[];
    /** Which of the laws, by their titles; all of them when absent. */
    only?: (title: string) => boolean;
    /** Why it cannot be had on this machine. */
    missing?: string | undefined;
  } = {},
): void {
  const { missing } = options;
  const skips = withSkips(options.skip ?? []);
  const owner: Owner = { tenant: 'acme', project: 'web', principal: 'ada' };
  const never = new AbortController().signal;
  const opened: DriverUnderTest[] = [];

  async function open(): Promise<DriverUnderTest> {
    const made = await make();
    opened.push(made);
    return made;
  }

  function law(title: string, body: (context: TestContext) => Promise<void>): void {
    if (options.only?.(title) === false) return;
    skips.know(title);
    test(title, async (context) => {
      if (missing !== undefined) missingDriver(context, name, missing);
      skips.begin(title, context);
      await body(context);
    });
  }

  const key = (sandbox: Id<'sandbox'> = newId('sandbox'), incarnation = 1): InstanceKey => ({ sandbox, incarnation });

  const listed = (wanted: InstanceKey, of = owner) => ({
    key: wanted,
    owner: of,
    labels: expect.any(Object),
    ended: false,
  });

  describe(`driver ${name}`, () => {
    afterEach(async () => {
      for (const made of opened.splice(0)) await made.close();
    });

    law('is usable and says which version it is', async () => {
      const { driver } = await open();
      expect(await driver.probe(never)).toMatchObject({ usable: true, version: expect.stringMatching(/./) });
    });

    law('declares exactly the abilities that it has', async () => {
      const { driver } = await open();
      for (const [ability, methods] of Object.entries(abilityMethods)) {
        for (const method of methods) {
          expect(typeof driver[method] === 'function', `${ability}: ${method}`).toBe(
            hasAbility(driver, ability as Ability),
          );
        }
      }
    });

    law('supports a plain blueprint', async () => {
      const { driver } = await open();
      expect(driver.supports(normalizeUserWorkspaceSpec({ source: { kind: 'none' } }))).toEqual([]);
    });

    law('creates an instance that runs and is listed with its whole owner', async () => {
      const { driver, request } = await open();
      const wanted = key();
      const instance = await driver.create(await request(wanted, owner), never);
      expect(instance).toMatchObject({ key: wanted, owner });
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'running' });
      expect((await driver.list(never)).instances).toContainEqual(listed(wanted));
    });

    law('keeps the scope of an owner', async () => {
      const { driver, request } = await open();
      const wanted = key();
      await driver.create(await request(wanted, { ...owner, scope: 'night' }), never);
      expect((await driver.list(never)).instances).toContainEqual(listed(wanted, { ...owner, scope: 'night' }));
    });

    law('creates one instance for one key, however often it is asked', async () => {
      const { driver, request } = await open();
      const asked = await request(key(), owner);
      const first = await driver.create(asked, never);
      const again = await Promise.all([driver.create(asked, never), driver.create(asked, never)]);
      for (const instance of again) expect(instance.key).toEqual(first.key);
      expect((await driver.list(never)).instances).toHaveLength(1);
    });

    law('keeps incarnations of one sandbox apart', async () => {
      const { driver, request } = await open();
      const old = key();
      const next = key(old.sandbox, 2);
      await driver.create(await request(old, owner), never);
      await driver.create(await request(next, owner), never);
      await driver.destroy(old, never);
      expect(await driver.inspect(old, never)).toEqual({ status: 'gone' });
      expect(await driver.inspect(next, never)).toEqual({ status: 'running' });
    });

    law('destroys an instance, and destroying it again succeeds', async () => {
      const { driver, request } = await open();
      const wanted = key();
      await driver.create(await request(wanted, owner), never);
      await driver.destroy(wanted, never);
      await driver.destroy(wanted, never);
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'gone' });
      expect((await driver.list(never)).instances).toEqual([]);
    });

    law('destroys what never existed, and inspects it as gone', async () => {
      const { driver } = await open();
      const unknown = key();
      expect(await driver.inspect(unknown, never)).toEqual({ status: 'gone' });
      await driver.destroy(unknown, never);
    });

    law('finds everything again after a restart', async () => {
      const made = await open();
      const wanted = key();
      await made.driver.create(await made.request(wanted, owner), never);
      const restarted = await made.restart();
      expect((await restarted.list(never)).instances).toContainEqual(listed(wanted));
      expect(await restarted.inspect(wanted, never)).toEqual({ status: 'running' });
      await restarted.destroy(wanted, never);
      expect((await restarted.list(never)).instances).toEqual([]);
    });

    law('hands out the guest of each instance once, before it runs anything and again after a restart', async () => {
      const { driver, request, restart } = await open();
      if (!driver.guest) return;
      const wanted = key();
      const given: { by: string; key: InstanceKey; guest: unknown }[] = [];
      const listen = (to: Driver, by: string) => {
        to.onGuest = (one, guest) => given.push({ by, key: one, guest });
      };
      listen(driver, 'first');
      await driver.create(await request(wanted, owner), never);
      expect(given).toEqual([{ by: 'first', key: wanted, guest: await driver.guest(wanted, never) }]);
      await driver.list(never);
      expect(given.length).toBe(1);
      const next = await restart();
      listen(next, 'second');
      await next.list(never);
      expect(given.slice(1)).toEqual([{ by: 'second', key: wanted, guest: await next.guest?.(wanted, never) }]);
    });

    law('sees that an instance was removed behind its back', async () => {
      const { driver, request, removeBehindItsBack } = await open();
      const wanted = key();
      await driver.create(await request(wanted, owner), never);
      await removeBehindItsBack(wanted);
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'gone' });
      await driver.destroy(wanted, never);
    });

    law('gives back the labels that an instance was created with, whole, also after a restart', async () => {
      const { driver, request, restart } = await open();
      const wanted = key();
      const asked = await request(wanted, owner);
      const labels = { ...asked.labels, 'caisson.papers': `1.${'long-'.repeat(4_000)}.end` };
      await driver.create({ ...asked, labels }, never);
      const given = async (of: Driver) => (await of.list(never)).instances.map((one) => one.labels);
      expect(await given(driver)).toMatchObject([labels]);
      expect(await given(await restart())).toMatchObject([labels]);
    });

    law('lists an instance without a whole owner as an orphan and not as an instance', async () => {
      const { driver, makeOrphan } = await open();
      const backendName = await makeOrphan();
      const listing = await driver.list(never);
      expect(listing.instances).toEqual([]);
      expect(listing.orphans.map((orphan) => orphan.backendName)).toEqual([backendName]);
    });

    law('refuses to begin when it is already aborted, and leaves nothing', async () => {
      const { driver, request } = await open();
      const wanted = key();
      const asked = await request(wanted, owner);
      await expect(driver.create(asked, AbortSignal.abort())).rejects.toThrow();
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'gone' });
      expect((await driver.list(never)).instances).toEqual([]);
    });

    law('creates twenty instances at once and destroys them at once', async () => {
      const { driver, request } = await open();
      const keys = Array.from({ length: 20 }, () => key());
      await Promise.all(keys.map(async (wanted) => driver.create(await request(wanted, owner), never)));
      expect((await driver.list(never)).instances).toHaveLength(20);
      await Promise.all(keys.map((wanted) => driver.destroy(wanted, never)));
      expect((await driver.list(never)).instances).toEqual([]);
    });

    law('pauses and resumes, where it can', async () => {
      const { driver, request } = await open();
      if (!driver.pause || !driver.resume) return expect(driver.capabilities.pause).toBe('none');
      const wanted = key();
      await driver.create(await request(wanted, owner), never);
      await driver.pause(wanted, never);
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'paused' });
      await driver.resume(wanted, never);
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'running' });
    });

    law('destroys an instance that is paused, where it can pause', async () => {
      const { driver, request } = await open();
      if (!driver.pause) return expect(driver.capabilities.pause).toBe('none');
      const wanted = key();
      await driver.create(await request(wanted, owner), never);
      await driver.pause(wanted, never);
      await driver.destroy(wanted, never);
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'gone' });
      expect((await driver.list(never)).instances).toEqual([]);
    });

    law('halts and begins again from what it kept, where it can', async () => {
      const { driver, request } = await open();
      if (!driver.halt) return expect(driver.capabilities.halt).toBe(false);
      const wanted = key();
      const asked = await request(wanted, owner);
      await driver.create(asked, never);
      await driver.halt(wanted, never);
      await driver.halt(wanted, never);
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'gone' });
      expect((await driver.list(never)).instances).toEqual([]);
      await expect(driver.create({ ...asked, fromKept: true }, AbortSignal.abort())).rejects.toThrow();
      await driver.create({ ...asked, fromKept: true }, never);
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'running' });
    });

    law('measures an instance that runs, and refuses to measure one that is gone, where it can', async () => {
      const { driver, request } = await open();
      if (!driver.stats) return expect(driver.capabilities.stats).toBe(false);
      const wanted = key();
      await driver.create(await request(wanted, owner), never);
      const stats = await driver.stats(wanted, never);
      for (const value of Object.values(stats)) expect(value).toBeGreaterThanOrEqual(0);
      await driver.destroy(wanted, never);
      await expect(driver.stats(wanted, never)).rejects.toMatchObject({ code: 'instance_lost' });
    });

    law('meters what an instance used, never less than before, where it can', async () => {
      const { driver, request } = await open();
      if (!driver.meter) return expect(driver.capabilities.meter).toBe(false);
      const wanted = key();
      await driver.create(await request(wanted, owner), never);
      const first = await driver.meter(wanted, never);
      const second = await driver.meter(wanted, never);
      expect(second.wallSeconds).toBeGreaterThanOrEqual(first.wallSeconds);
      expect(second.cpuSeconds).toBeGreaterThanOrEqual(first.cpuSeconds);
      await driver.destroy(wanted, never);
      await expect(driver.meter(wanted, never)).rejects.toMatchObject({ code: 'instance_lost' });
    });

    law('gives the last lines of what was logged, and none of an instance that is gone, where it can', async () => {
      const { driver, request } = await open();
      if (!driver.logs) return expect(driver.capabilities.logs).toBe(false);
      const wanted = key();
      await driver.create(await request(wanted, owner), never);
      for (const line of await driver.logs(wanted, never)) expect(line.length).toBeLessThanOrEqual(500);
      await driver.destroy(wanted, never);
      await expect(driver.logs(wanted, never)).rejects.toMatchObject({ code: 'instance_lost' });
    });

    law('ends a create that hangs when it is told to destroy, and leaves nothing', async () => {
      const { hanging, request } = await open();
      if (!hanging) throw new Error('what hangs cannot be had: declare a skip');
      const driver = await hanging();
      const wanted = key();
      const creating = driver.create(await request(wanted, owner), never);
      const ended = expect(creating).rejects.toThrow();
      await untilListed(driver, wanted, never);
      await driver.destroy(wanted, never);
      await ended;
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'gone' });
      expect(await driver.list(never)).toEqual({ instances: [], orphans: [] });
    });

    describeGuest({ law, open, key, owner, never });

    test('every declared skip names a test of this suite', () => expect(skips.unknown()).toEqual([]));
  });
}

/** A driver that must be there and is not is a failure; elsewhere it is a skip with the reason. */
function missingDriver(context: TestContext, name: string, why: string): void {
  const required = (process.env.REQUIRE_DRIVERS ?? '').split(',').map((one) => one.trim());
  if (required.includes(name.split(' ')[0] ?? '')) throw new Error(`${name} is required and missing: ${why}`);
  skip(context, why);
}

/** Half-way: the backend has something of it. */
async function untilListed(driver: Driver, key: InstanceKey, signal: AbortSignal): Promise<void> {
  for (let round = 0; round < 500; round += 1) {
    if ((await driver.inspect(key, signal)).status !== 'gone') return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the create that should hang never began');
}
