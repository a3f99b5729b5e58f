import { newId } from '@caisson/contract';
import { afterAll, expect, test } from 'vitest';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { describeDriver } from './describe-driver.ts';
import { isForEachRun } from './each-run-laws.ts';
import { engineWorld } from './engine-world.ts';
import { skip } from './skips.ts';

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

test('a sandbox that was to have a kernel of its own never runs on that of the host', async (context) => {
  const missing = whyNoEngine('podman');
  if (missing !== undefined) skip(context, missing);
  const world = await engineWorld(await engine(), 'runsc');
  const never = new AbortController().signal;
  const key = { sandbox: newId('sandbox'), incarnation: 1 };
  const request = await world.request(key, { tenant: 'acme', project: 'web', principal: 'ada' });
  // It has heard of runsc, and would make the container under its default without a word.
  expect(world.driver.supports(request.blueprint)).toMatchObject([{ path: 'runtime.ociRuntime' }]);
  await expect(world.driver.create(request, never)).rejects.toMatchObject({
    code: 'driver_failed',
    message: 'Podman was asked for the runtime runsc and took runc: it is not started',
  });
  expect(await world.driver.inspect(key, never)).toEqual({ status: 'gone' });
  await world.close();
});
