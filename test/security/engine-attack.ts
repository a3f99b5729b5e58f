import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { buildGuest } from '../../packages/guest/build.mjs';
import { DockerDriver } from '../../packages/server/src/drivers/docker/docker-driver.ts';
import { namesOf } from '../../packages/server/src/drivers/docker/instance-name.ts';
import type { CreateRequest, InstanceKey } from '../../packages/server/src/drivers/driver.ts';
import type { RealEngine } from '../real-engine.ts';
import { type AttackWorld, type Confined, means, never } from './sandbox-world.ts';

/** Where sandboxes of a real engine are attacked. */
export interface EngineWorld extends AttackWorld {
  readonly driver: DockerDriver;
  readonly real: RealEngine;
  /** Another driver on the same instances, as after a restart of the server. */
  again(): Promise<DockerDriver>;
  /** What a launch asks for. */
  requestFor(key: InstanceKey, image?: RealEngine['image']): CreateRequest;
  launch(options?: EngineLaunch): Promise<Confined>;
}

export interface EngineLaunch {
  readonly memoryMiB?: number;
  readonly pids?: number;
  /** Another image than the usual one. */
  readonly image?: RealEngine['image'];
}

export async function engineAttack(real: RealEngine): Promise<EngineWorld> {
  const { name: kind, host, engine, image } = real;
  const installation = newId('request');
  const folder = mkdtempSync(join(real.folder, 'attack-'));
  const guestProgram = buildGuest({ quiet: true });
  const secrets = join(folder, 'secrets');
  const open = async () => {
    const driver = new DockerDriver({ kind, host, folder: secrets, guestProgram, installation });
    await driver.open(never);
    return driver;
  };
  const driver = await open();
  const requestFor = (key: InstanceKey, from = image, resources: object = {}): CreateRequest => {
    const limits = { memoryMiB: 256, pids: 128, diskMiB: 1_024, ...resources };
    const blueprint = normalizeUserWorkspaceSpec({
      source: { kind: 'none' },
      runtime: { network: { mode: 'off' }, resources: limits },
    });
    const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
    return { key, owner, labels: { 'caisson.installation': installation }, blueprint, image: from };
  };
  return {
    folder,
    driver,
    real,
    again: open,
    requestFor,
    async launch({ image: from, ...resources } = {}) {
      const id = newId('sandbox');
      const key = { sandbox: id, incarnation: 1 };
      await driver.create(requestFor(key, from, resources), never);
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
