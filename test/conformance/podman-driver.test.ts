import { afterAll } from 'vitest';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { describeDriver } from './describe-driver.ts';
import { isForEachRun } from './each-run-laws.ts';
import { engineWorld } from './engine-world.ts';

let starting: Promise<RealEngine> | undefined;
const engine = () => {
  starting ??= startEngine('podman');
  return starting;
};
afterAll(async () => (await starting)?.close());

describeDriver('podman', async () => engineWorld(await engine()), {
  missing: whyNoEngine('podman'),
  only: isForEachRun,
});
