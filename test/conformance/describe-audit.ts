import { newId } from '@caisson/contract';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { NewAuditRow } from '../../packages/server/src/store/audit.ts';
import type { Database } from '../../packages/server/src/store/database.ts';
import type { Store } from '../../packages/server/src/store/store.ts';

/** The audit log, on whichever store. `raw` is the same database without the store before it. */
export function describeAudit(open: () => Store, raw: () => Promise<Database>): void {
  describe('audit log', () => {
    const row = (change: Partial<NewAuditRow> = {}): NewAuditRow => ({
      id: newId('audit'),
      time: Date.now(),
      actor: 'agent',
      tenant: 'acme',
      project: 'web',
      principal: 'ada',
      key: null,
      action: 'sandbox.create',
      subject: null,
      address: '127.0.0.1',
      agent: null,
      status: 201,
      code: null,
      request: null,
      detail: null,
      count: 1,
      ...change,
    });

    test('is read in the order in which it was written, page by page, and by who and what', async () => {
      const tenant = 'audited';
      const rows = ['key.create', 'sandbox.create', 'sandbox.destroy', 'sandboxes.none'].map((action, n) =>
        row({ tenant, action, principal: n === 0 ? 'bob' : 'ada', subject: `s${n}` }),
      );
      await open().audit.insert(rows);
      const page = await open().audit.list({ tenant, after: 0, limit: 2 });
      expect(page.map(({ action }) => action)).toEqual(['key.create', 'sandbox.create']);
      const rest = await open().audit.list({ tenant, after: page[1]?.position ?? 0, limit: 10 });
      expect(rest.map(({ action }) => action)).toEqual(['sandbox.destroy', 'sandboxes.none']);
      const only = async (filter: object) =>
        (await open().audit.list({ tenant, after: 0, limit: 10, ...filter })).map(({ subject }) => subject);
      expect(await only({ action: 'sandbox.' })).toEqual(['s1', 's2']);
      expect(await only({ action: 'sandbox.create' })).toEqual(['s1']);
      expect(await only({ principal: 'bob' })).toEqual(['s0']);
      expect(await only({ subject: 's2' })).toEqual(['s2']);
      expect(await only({ since: Date.now() + 60_000 })).toEqual([]);
    });

    test('takes the same line twice, and keeps it once', async () => {
      const tenant = 'twice';
      const line = row({ tenant });
      await open().audit.insert([line]);
      await open().audit.insert([line, row({ tenant })]);
      expect(await open().audit.list({ tenant, after: 0, limit: 10 })).toHaveLength(2);
    });

    test('cannot be changed or shortened, but for what is older than is kept', async () => {
      const tenant = 'kept';
      const now = Date.now();
      await open().audit.insert([row({ tenant, time: now - 5_000 }), row({ tenant, time: now })]);
      const { db, close } = await raw();
      await expect(sql`update audit set status = 200`.execute(db)).rejects.toThrow('append-only');
      await expect(sql`delete from audit where tenant = ${tenant}`.execute(db)).rejects.toThrow('append-only');
      await close();
      await open().audit.keepSince(now - 1_000);
      const left = await open().audit.list({ tenant, after: 0, limit: 10 });
      expect(left.map(({ time }) => Date.parse(time))).toEqual([now]);
    });
  });
}
