import type { SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { slowness } from '../slowness.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';

const world = new SandboxWorld();
beforeAll(async () => {
  if (whyNoSandboxes === undefined) await world.start();
});
afterAll(() => world.close());

const runtimes = ['runc', 'crun'];

async function make(ociRuntime: string, resources: object = {}): Promise<{ sandbox: SandboxHandle; pid: number }> {
  const runtime = { ...spec.runtime, ociRuntime, resources };
  const sandbox = await world.client().sandboxes.create({ spec: { ...spec, runtime } });
  return { sandbox, pid: await world.note(sandbox) };
}

/** How it stands once it has failed; the events tell. */
async function failed(sandbox: SandboxHandle) {
  for await (const { data } of sandbox.events({ after: 0, signal: AbortSignal.timeout(15_000 * slowness) }))
    if (data.action === null && data.to === 'failed') break;
  const { state, reason } = (await sandbox.refresh()).record;
  return { state, code: reason?.code };
}

const deaths: Record<string, (sandbox: SandboxHandle, pid: number) => Promise<unknown> | boolean> = {
  'killed from the host': (_, pid) => process.kill(pid, 'SIGKILL'),
  'told to end from inside': (sandbox) => sandbox.exec('kill -TERM 1; sleep 5', { user: 'root' }),
};
const cases = runtimes.flatMap((runtime) => Object.keys(deaths).map((death) => [runtime, death] as const));

test.concurrent.for(cases)('with %s, a guest that is %s is told as gone', async ([runtime, death], context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const { sandbox, pid } = await make(runtime);
  const dying = Promise.resolve(deaths[death]?.(sandbox, pid)).catch(() => {});
  expect(await failed(sandbox)).toEqual({ state: 'failed', code: 'guest_gone' });
  await dying;
});

test.concurrent('a sandbox that goes while a command still reads its input takes nobody with it', async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const { sandbox } = await make('auto');
  const reading = sandbox.exec('sleep 1000', { stdin: 'x'.repeat(600_000) }).catch((error: unknown) => error);
  // Until the pipe is full and the rest waits.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await sandbox.destroy();
  await reading;
  expect((await world.client().sandboxes.get(sandbox.id)).state).toBe('destroyed');
});

test.concurrent('a create that is given up spoils its runtime for nobody', async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const runtime = { ...spec.runtime, ociRuntime: 'runsc' };
  const given = await world.client().sandboxes.create({ spec: { ...spec, runtime }, waitSeconds: 0 });
  await new Promise((resolve) => setTimeout(resolve, 60));
  await given.destroy();
  const { sandbox } = await make('runsc');
  expect((await sandbox.exec('echo up')).stdout).toBe('up\n');
});

test.concurrent('the guest cannot be killed from inside', async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  const { sandbox } = await make('auto');
  await sandbox.exec('kill -KILL 1; kill -SEGV 1; kill -HUP 1', { user: 'root' });
  expect((await sandbox.exec('echo here')).stdout).toBe('here\n');
});

test.concurrent.for(runtimes)(
  'with %s, a guest that dies of too little memory is told so',
  async (runtime, context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
    const { sandbox } = await make(runtime, { memoryMiB: 24 });
    const failing = failed(sandbox);
    // Their kept output is memory of the guest, and nobody else is there to be ended instead.
    const filling = (async () => {
      for (let n = 0; n < 100; n += 1) await (await sandbox.processes.start('head -c 4000000 /dev/zero')).wait();
    })().catch(() => {});
    expect(await failing).toEqual({ state: 'failed', code: 'out_of_memory' });
    await filling;
  },
);

test('nothing is left of any of them once they are destroyed', async (context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
  await world.noteAll();
  await world.destroyAll();
  await world.stop();
  expect(await world.leftovers()).toEqual([]);
});
