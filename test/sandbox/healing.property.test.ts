import type { Sandbox } from '@caisson/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Grace } from '../../packages/server/src/sandbox/healing/grace.ts';
import { slowness } from '../slowness.ts';
import { ada, controlPlane, patient, stranger } from './control-plane.ts';

const deeds = [
  'stay',
  'pause',
  'stop',
  'recreate',
  'destroy',
  'end',
  'forget owner',
  'forge papers',
  'vanish',
] as const;
const one = fc.record({ deed: fc.constantFrom(...deeds), isKnown: fc.boolean(), kept: fc.boolean() });

/**
 * Whatever happened to sandboxes before their database was lost: afterwards each instance that runs has the record it had,
 * if its tenant is there and nobody touched its labels; everything else is gone after the grace time, and nothing before.
 */
test('whatever was lost, instances and records agree in the end', { timeout: 120_000 * slowness }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 6 }), async (wanted) => {
      let clock = 0;
      let plane = await controlPlane({ deadlines: patient, grace: () => new Grace(60_000, () => clock) });
      try {
        const adopted = new Map<string, Pick<Sandbox, 'incarnation' | 'owner'>>();
        const leftAlone: string[] = [];
        for (const { deed, isKnown, kept } of wanted) {
          const caller = isKnown ? ada : stranger;
          const request = { waitSeconds: 120, ...(kept ? { profile: 'kept' } : {}) };
          const { id } = (await plane.sandboxes.create(caller, request)).sandbox;
          const key = { sandbox: id, incarnation: 1 };
          const instance = plane.backend.find(`${id}.1`);
          if (deed === 'pause') await plane.sandboxes.pause(caller, id, { waitSeconds: 120, drainSeconds: 0 });
          if (deed === 'stop') await plane.sandboxes.stop(caller, id, 120);
          if (deed === 'recreate') await plane.sandboxes.recreate(caller, id, 120);
          if (deed === 'destroy') await plane.sandboxes.destroy(caller, id, 120);
          if (deed === 'end') plane.backend.end(key, 'guest_gone', 'it ended');
          if (deed === 'forget owner') plane.backend.forgetOwner(key);
          if (deed === 'vanish') plane.backend.remove(key);
          if (deed === 'forge papers' && instance)
            plane.backend.put({ ...instance, labels: { ...instance.labels, 'caisson.papers': '1.AAAA.AAAA' } });
          if (['stop', 'destroy', 'vanish'].includes(deed)) continue;
          const incarnation = deed === 'recreate' ? 2 : 1;
          const isWhole = deed !== 'forget owner' && deed !== 'forge papers';
          if (isKnown && isWhole) adopted.set(id, { incarnation, owner: caller.owner });
          else leftAlone.push(id);
        }
        plane = await plane.loseDatabase();
        await plane.store.tenants.know(ada.owner);
        await plane.settle();
        const running = () => [...plane.backend.all()].filter(([, { status }]) => status !== 'halted');
        const names = () => running().map(([, { key }]) => key.sandbox);
        const both = [...adopted.keys(), ...leftAlone].sort();
        expect(names().sort()).toEqual(both);
        clock = 59_999;
        await plane.settle();
        for (const id of leftAlone) expect(names()).toContain(id);
        clock = 60_000;
        await plane.settle();
        const records = await plane.store.sandboxes.living(100);
        expect(records.map(({ id }) => id).sort()).toEqual([...adopted.keys()].sort());
        for (const record of records) expect(record).toMatchObject(adopted.get(record.id) ?? {});
        const standing = records.filter(({ state }) => state !== 'failed').map(({ id }) => id);
        expect(names().sort()).toEqual(standing.sort());
      } finally {
        await plane.close();
      }
    }),
    { numRuns: 8 },
  );
});
