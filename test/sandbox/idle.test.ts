import { afterEach, expect, test } from 'vitest';
import { Idle } from '../../packages/server/src/sandbox/idle.ts';
import { ada, type ControlPlane, controlPlane } from './control-plane.ts';

let plane: ControlPlane;
let idle: Idle;
afterEach(async () => {
  idle.stop();
  await plane.close();
});

async function open(autoPauseSeconds = 1) {
  plane = await controlPlane();
  idle = new Idle(plane.work, plane.runner);
  await idle.start();
  const { sandbox } = await plane.sandboxes.create(ada, { waitSeconds: 10, autoPauseSeconds });
  return sandbox;
}

const stateOf = async (id: string) => (await plane.sandboxes.get(ada, id)).state;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('a visit keeps a sandbox awake, and its idle time begins at the end of it', async () => {
  const { id } = await open();
  const end = idle.visit(id);
  await sleep(1_500);
  expect(await stateOf(id)).toBe('ready');
  end();
  await sleep(500);
  expect(await stateOf(id)).toBe('ready');
  await expect.poll(() => stateOf(id), { timeout: 30_000 }).toBe('paused');
});

test('a visit that begins in the last moment takes the pause back', async () => {
  const { id } = await open();
  const ends: (() => void)[] = [];
  plane.store.onEvent((event) => {
    if (event.type === 'caisson.sandbox.pausing' && ends.length === 0) ends.push(idle.visit(id));
  });
  await expect.poll(() => ends.length, { timeout: 30_000 }).toBe(1);
  await plane.runner.idle();
  expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'ready', reason: { code: 'cancelled' } });
  ends[0]?.();
  await expect.poll(() => stateOf(id), { timeout: 30_000 }).toBe('paused');
});

test('a pause that fails is tried again after another idle time', async () => {
  const { id } = await open();
  plane.driver.faults.plan('pause.before', { kind: 'fail' });
  await sleep(1_500);
  expect(await stateOf(id)).toBe('ready');
  await expect.poll(() => stateOf(id), { timeout: 30_000 }).toBe('paused');
});

test('what is stopped or destroyed meanwhile is left alone', async () => {
  const { id } = await open();
  await plane.sandboxes.destroy(ada, id, 10);
  await sleep(1_300);
  expect(await stateOf(id)).toBe('destroyed');
});

test('a sandbox whose driver cannot pause says so', async () => {
  plane = await controlPlane();
  idle = new Idle(plane.work, plane.runner);
  await idle.start();
  Object.defineProperty(plane.driver, 'pause', { value: undefined });
  const { sandbox } = await plane.sandboxes.create(ada, { waitSeconds: 10, autoPauseSeconds: 1 });
  expect(sandbox.notices.join()).toContain('cannot pause');
  await sleep(1_300);
  expect(await stateOf(sandbox.id)).toBe('ready');
});
