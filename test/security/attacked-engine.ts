import { afterAll } from 'vitest';
import { namesOf } from '../../packages/server/src/drivers/docker/instance-name.ts';
import { type EngineName, type RealEngine, startEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import { type EngineWorld, engineAttack } from './engine-attack.ts';
import { type Confined, never } from './sandbox-world.ts';

/** What the attacks run inside, besides the usual programs. */
const programs = ['xargs', 'mkfifo', 'truncate', 'ipcmk', 'openssl', 'yes'];

export interface AttackedEngine {
  engine(): Promise<RealEngine>;
  open(): Promise<EngineWorld>;
  /** Where the engine keeps the files of a sandbox, and of the server. */
  placesOf(sandbox: Confined): Promise<readonly string[]>;
}

/** One real engine for all suites of a file; it is started by the first that needs it. */
export function attackedEngine(name: EngineName): AttackedEngine {
  let starting: Promise<RealEngine> | undefined;
  const engine = () => {
    starting ??= startEngine(name, programs);
    return starting;
  };
  afterAll(async () => (await starting)?.close(), 60_000 * slowness);
  return {
    engine,
    open: async () => engineAttack(await engine()),
    async placesOf({ key }) {
      const { engine: api, folder } = await engine();
      const path = `/containers/${namesOf(key).container}/json`;
      const { body } = await api.call<{ GraphDriver?: { Data?: Record<string, string> } }>('GET', path, {
        signal: never,
      });
      return [folder, ...Object.values(body.GraphDriver?.Data ?? {}).flatMap((value) => value.split(':'))];
    },
  };
}
