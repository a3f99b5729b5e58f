import { type CaissonEvent, newId, type Owner, type QuotaResource } from '@caisson/contract';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Database } from '../../packages/server/src/store/database.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { makeDestroyed, newAttempt, newSandbox, noLimits, outcomes, put } from './store-fixtures.ts';

const size = { cpuMillis: 1_500, memoryMiB: 512, diskMiB: 1_024 };

/** Quotas, on whichever store. `raw` is the same database without the store before it. */
export function describeQuotas(open: () => Store, raw: () => Promise<Database>): void {
  describe('quotas', () => {
    let count = 0;
    const newOwner = (): Owner => {
      count += 1;
      return { tenant: `quota-${count}`, project: 'web', principal: 'ada' };
    };
    const used = async ({ tenant }: Owner, project: string | null, resource: QuotaResource) =>
      (await open().quotas.get(tenant, project)).items.find((item) => item.resource === resource)?.used;

    test('of many creates at once exactly as many succeed as the tenant may have', async () => {
      const owner = newOwner();
      await open().quotas.set(owner.tenant, null, { cpus: 7.5 });
      const made = Array.from({ length: 20 }, () => put(open(), { owner, size }));
      expect(await outcomes(made)).toEqual({ ok: 5, quota_exceeded: 15 });
      expect(await used(owner, null, 'cpus')).toBe(7.5);
    });

    test('what the admins of a tenant make has an end, and what is there can still be changed', async () => {
      const { tenant, project } = newOwner();
      const { db, close } = await raw();
      const many = Array.from({ length: 1_000 }, (_, n) => ({ tenant, name: `p${n}`, created_at: 1 }));
      await db.insertInto('projects').values(many).execute();
      await close();
      await expect(open().tenants.setProject(tenant, project)).rejects.toMatchObject({ code: 'quota_exceeded' });
      expect(await open().tenants.setProject(tenant, 'p7')).toMatchObject({ name: 'p7' });
      await open().tenants.setPrincipal(tenant, 'ada', { role: 'viewer' });
      await open().keys.requireRoom(tenant);
    });

    test('a refusal says what, how much is used, how much may be, and who can change it', async () => {
      const owner = newOwner();
      await open().quotas.set(owner.tenant, 'web', { memoryMiB: 600 });
      await put(open(), { owner, size });
      await expect(put(open(), { owner, size })).rejects.toMatchObject({
        code: 'quota_exceeded',
        context: { resource: 'memoryMiB', of: 'project', name: 'web', used: 512, limit: 600, asked: 512 },
        hint: expect.stringContaining('admin of the tenant'),
      });
      // Another project of the tenant has no limit.
      await put(open(), { owner: { ...owner, project: 'other' }, size });
    });

    test('what was there before a quota counts, and what ends gives its part back', async () => {
      const owner = newOwner();
      const first = await put(open(), { owner, size });
      await open().quotas.set(owner.tenant, null, { sandboxes: 1 });
      await expect(put(open(), { owner, size })).rejects.toMatchObject({ code: 'quota_exceeded' });
      await makeDestroyed(open(), first);
      expect(await used(owner, null, 'diskMiB')).toBe(0);
      await put(open(), { owner, size });
    });

    test('quotas that are set while sandboxes come and go count all of them', async () => {
      const owner = newOwner();
      const work = Array.from({ length: 30 }, async (_, n) => {
        if (n % 10 === 5) await open().quotas.set(owner.tenant, n % 20 === 5 ? null : 'web', { sandboxes: 1_000 });
        const made = await put(open(), { owner, size });
        if (n % 3 === 0) await makeDestroyed(open(), made);
      });
      expect(await outcomes(work)).toEqual({ ok: 30 });
      for (const project of [null, 'web']) expect(await used(owner, project, 'sandboxes')).toBe(20);
      expect(await open().quotas.repair()).toEqual([]);
    });

    test('a limit that is taken away is none, and without limits nothing is counted', async () => {
      const owner = newOwner();
      await open().quotas.set(owner.tenant, null, { sandboxes: 0, snapshots: 3 });
      await expect(put(open(), { owner })).rejects.toMatchObject({ code: 'quota_exceeded' });
      await open().quotas.set(owner.tenant, null, { sandboxes: null });
      await put(open(), { owner });
      const quota = await open().quotas.set(owner.tenant, null, { snapshots: null });
      expect(quota.items.every(({ limit }) => limit === null)).toBe(true);
      expect(await used(owner, null, 'sandboxes')).toBe(1);
    });

    test('snapshots count from their beginning until their files are gone', async () => {
      const owner = newOwner();
      const sandbox = await put(open(), { owner });
      const begin = (kind: 'named' | 'fork') => {
        const inputs = {} as never;
        return open().snapshots.begin(sandbox, { id: newId('snapshot'), kind, name: null, labels: {}, inputs });
      };
      await open().quotas.set(owner.tenant, 'web', { snapshots: 1 });
      const first = await begin('named');
      await expect(begin('named')).rejects.toMatchObject({
        code: 'quota_exceeded',
        context: { resource: 'snapshots' },
      });
      // That of a fork is nobody's.
      await begin('fork');
      await open().snapshots.beginDelete(first.id);
      await expect(begin('named')).rejects.toMatchObject({ code: 'quota_exceeded' });
      await open().snapshots.endDelete(first.id);
      await begin('named');
    });

    test('builds that wait or run count, of the tenant and of the project', async () => {
      const owner = newOwner();
      await open().quotas.set(owner.tenant, 'web', { builds: 2 });
      const build = (project: string) => {
        const id = newId('build');
        const asked = { id, owner: { ...owner, project }, key: id, planDigest: id, plan: {} };
        return open().builds.request(asked, { kind: 'build', payload: {}, uniqueKey: id }, 100);
      };
      expect(await outcomes(Array.from({ length: 6 }, () => build('web')))).toEqual({ ok: 2, quota_exceeded: 4 });
      await build('other');
      expect(await used(owner, null, 'builds')).toBe(3);
    });

    test('a count that is wrong is put right, with an event', async () => {
      const owner = newOwner();
      await open().quotas.set(owner.tenant, null, { sandboxes: 5 });
      await put(open(), { owner, size });
      const { db, close } = await raw();
      await sql`update quotas set used_sandboxes = 4, used_cpu_millis = 0 where tenant = ${owner.tenant}`.execute(db);
      await close();
      const seen: CaissonEvent[] = [];
      const stop = open().onEvent((event) => seen.push(event));
      const found = 'sandboxes: 4 counted, 1 there; cpus: 0 counted, 1.5 there';
      expect(await open().quotas.repair()).toEqual([{ tenant: owner.tenant, project: null, found }]);
      stop();
      expect(seen).toMatchObject([{ type: 'caisson.tenant.quota-repair', subject: owner.tenant, data: { found } }]);
      expect(await used(owner, null, 'cpus')).toBe(1.5);
      expect(await open().quotas.repair()).toEqual([]);
    });

    test('a create that a quota refuses leaves nothing behind', async () => {
      const owner = newOwner();
      await open().quotas.set(owner.tenant, null, { sandboxes: 0 });
      const sandbox = newSandbox({ owner });
      await expect(open().sandboxes.create(sandbox, newAttempt(), noLimits)).rejects.toMatchObject({
        code: 'quota_exceeded',
      });
      expect(await open().sandboxes.get(sandbox.id)).toBeUndefined();
      expect(await open().tenants.liveSandboxes(owner.tenant)).toBe(0);
    });
  });
}
