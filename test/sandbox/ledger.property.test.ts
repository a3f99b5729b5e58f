import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { actionNames, actions, type Sandbox, type Step } from '@caisson/contract';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { openSqlite } from '../../packages/server/src/store/database.ts';
import { openStore } from '../../packages/server/src/store/store.ts';
import { balancesOfLedger } from '../conformance/ledger-sums.ts';
import { newAttempt, put } from '../conformance/store-fixtures.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
afterAll(() => rmSync(folder, { recursive: true }));

const tenants = ['a', 'b'];
const price = fc.integer({ min: 0, max: 10_000_000 });
const operation = fc.oneof(
  fc.record({ kind: fc.constant('grant' as const), amount: fc.integer({ min: -3_000_000, max: 9_000_000 }) }),
  fc.record({ kind: fc.constant('create' as const), prices: fc.tuple(price, price, price) }),
  fc.record({
    kind: fc.constant('step' as const),
    which: fc.nat(20),
    action: fc.constantFrom(...actionNames),
    end: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('settle' as const),
    which: fc.nat(20),
    afterMs: fc.integer({ min: -10_000, max: 40_000_000 }),
  }),
);

/** The step of an action that leads on from where a sandbox is: into its transient state, or to its end. */
function stepOf({ action: running }: Sandbox, action: (typeof actionNames)[number], isSuccess: boolean): Step {
  if (running !== null) return { action: running, end: isSuccess ? 'success' : 'failure' };
  const [enter] = [...actions[action].via].reverse();
  return enter === undefined ? { action, end: 'success' } : { action, enter };
}

test('whatever is done in whatever order, every balance is what the ledger adds up to, and none is below nothing', async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...tenants), operation), { maxLength: 40 }),
      async (operations) => {
        count += 1;
        const path = join(folder, `${count}.db`);
        const store = await openStore({ sqlite: path });
        await store.hosts.seen('here', '1');
        const made: Sandbox[] = [];
        let clock = Date.now();
        for (const [tenant, one] of operations) {
          const which = 'which' in one ? one.which % Math.max(1, made.length) : 0;
          const sandbox = made[which];
          try {
            if (one.kind === 'grant') await store.credits.grant({ tenant, amountMicros: one.amount });
            else if (one.kind === 'create') {
              const [runningMicros, pausedMicros, stoppedMicros] = one.prices;
              const terms = { rates: { runningMicros, pausedMicros, stoppedMicros }, holdMs: 3_600_000 };
              made.push(await put(store, { owner: { tenant, project: 'p', principal: 'x' }, terms }));
            } else if (sandbox && one.kind === 'step') {
              const step = stepOf(sandbox, one.action, one.end);
              const isNew = step.action === 'recreate' && 'enter' in step;
              const change = isNew ? { attempt: newAttempt('recreate'), raiseIncarnation: true } : {};
              made[which] = (await store.sandboxes.step(sandbox, step, change)).sandbox;
            } else if (sandbox && one.kind === 'settle') {
              clock += one.afterMs;
              await store.credits.settle(sandbox.id, clock);
            }
          } catch (error) {
            // Refused as it should be; what was refused must have changed nothing.
            expect(error).toMatchObject({ name: 'CaissonError' });
          }
        }
        await store.close();
        const { db, close } = await openSqlite(path);
        const { wrong } = await balancesOfLedger(db);
        const ended = new Set(made.filter(({ state }) => state === 'destroyed').map(({ id }) => id as string));
        const meters = await db.selectFrom('meters').selectAll().execute();
        await close();
        rmSync(path);
        expect(wrong).toEqual([]);
        for (const meter of meters) expect(meter.ended_at !== null).toBe(ended.has(meter.sandbox));
      },
    ),
    { numRuns: 15 },
  );
}, 120_000);
