import { existsSync } from 'node:fs';
import { newId } from '@caisson/contract';
import { afterAll, expect, test } from 'vitest';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { describeDriver } from './describe-driver.ts';
import { engineWorld } from './engine-world.ts';
import { skip } from './skips.ts';

let starting: Promise<RealEngine> | undefined;
const engine = () => {
  starting ??= startEngine('docker');
  return starting;
};
afterAll(async () => (await starting)?.close());

describeDriver('docker', async () => engineWorld(await engine()), { missing: whyNoEngine('docker') });

test('a sandbox has a kernel of its own where the engine has runsc, and says so where it has not', async (context) => {
  const missing = whyNoEngine('docker') ?? (existsSync('/usr/bin/runsc') ? undefined : 'runsc is not installed');
  if (missing !== undefined) skip(context, missing);
  const world = await engineWorld(await engine(), 'runsc');
  const never = new AbortController().signal;
  const key = { sandbox: newId('sandbox'), incarnation: 1 };
  const request = await world.request(key, { tenant: 'acme', project: 'web', principal: 'ada' });
  expect(world.driver.supports(request.blueprint)).toEqual([]);
  await world.driver.create(request, never);
  const guest = await world.driver.guest?.(key, never);
  const done = await guest?.processes.exec(['/bin/cat', '/proc/version']);
  expect(done?.stdout.toString()).toMatch(/^Linux version 4\.4\.0/);
  const crun = { ...request.blueprint, runtime: { ...request.blueprint.runtime, ociRuntime: 'crun' as const } };
  expect(world.driver.supports(crun)).toMatchObject([{ path: 'runtime.ociRuntime' }]);
  await world.close();
});

test('the volume of the guest is filled again when somebody removed it, and older ones go', async (context) => {
  const missing = whyNoEngine('docker');
  if (missing !== undefined) skip(context, missing);
  const { engine: api } = await engine();
  const world = await engineWorld(await engine());
  const signal = new AbortController().signal;
  const create = async () => {
    const key = { sandbox: newId('sandbox'), incarnation: 1 };
    const request = await world.request(key, { tenant: 'acme', project: 'web', principal: 'ada' });
    await world.driver.create(request, signal);
    await world.driver.destroy(key, signal);
    return request.labels;
  };
  const volumes = async () => {
    const { body } = await api.call<{ Volumes: { Name: string }[] | null }>('GET', '/volumes', { signal });
    return (body.Volumes ?? []).map(({ Name }) => Name).filter((name) => name.startsWith('caisson-guest-'));
  };
  const Labels = await create();
  const now = await volumes();
  await api.call('POST', '/volumes/create', { body: { Name: 'caisson-guest-older', Labels }, signal });
  await api.call('POST', '/volumes/create', { body: { Name: 'caisson-guest-of-others' }, signal });
  for (const name of now) await api.call('DELETE', `/volumes/${name}`, { accept: [409], signal });
  await create();
  const [others, ...more] = (await volumes()).filter((name) => !now.includes(name));
  expect([others, more]).toEqual(['caisson-guest-of-others', []]);
  await api.call('DELETE', '/volumes/caisson-guest-of-others', { signal });
  await world.close();
});
