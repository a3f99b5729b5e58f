import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { buildGuest } from '../../packages/guest/build.mjs';
import { DockerDriver } from '../../packages/server/src/drivers/docker/docker-driver.ts';
import { namesOf } from '../../packages/server/src/drivers/docker/instance-name.ts';
import type { RealEngine } from '../real-engine.ts';
import { type AttackWorld, means, never } from './sandbox-world.ts';

/** Sandboxes on a real engine, to be attacked. */
export async function engineAttack(real: RealEngine): Promise<AttackWorld & { readonly driver: DockerDriver }> {
  const { name: kind, host, engine, image } = real;
  const installation = newId('request');
  const folder = mkdtempSync(join(real.folder, 'attack-'));
  const guestProgram = buildGuest({ quiet: true });
  const driver = new DockerDriver({ kind, host, folder, guestProgram, installation });
  await driver.open(never);
  return {
    driver,
    async launch({ memoryMiB = 256, pids = 128 } = {}) {
      const id = newId('sandbox');
      const key = { sandbox: id, incarnation: 1 };
      const blueprint = normalizeUserWorkspaceSpec({
        source: { kind: 'none' },
        runtime: { network: { mode: 'off' }, resources: { memoryMiB, pids } },
      });
      const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
      const labels = { 'caisson.installation': installation };
      await driver.create({ key, owner, labels, blueprint, image }, never);
      const guest = await driver.guest(key, never);
      const { body } = await engine.call<{ State: { Pid: number } }>(
        'GET',
        `/containers/${namesOf(key).container}/json`,
        { signal: never },
      );
      return { key, id, guest, pid: body.State.Pid, ...means(guest) };
    },
    async close() {
      for (const { key } of (await driver.list(never)).instances) await driver.destroy(key, never);
      await driver.close();
    },
  };
}
