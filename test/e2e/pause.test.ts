import type { CreateSandbox, SandboxState } from '@caisson/contract';
import type { SandboxHandle, ToolAnswer } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';

/** Pauses of real sandboxes: what stands still, what waits, what goes on, and what happens by itself. */
const world = new SandboxWorld();
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const create = (request: CreateSandbox = {}) => world.client().sandboxes.create({ spec, ...request });
const stateOf = async (sandbox: SandboxHandle): Promise<SandboxState> => (await sandbox.refresh()).state;
/** `expect.poll` cannot tell tests that run at once apart. */
const until = (holds: () => Promise<void>) => vi.waitFor(holds, { timeout: 30_000, interval: 50 });
const textOf = ({ content }: ToolAnswer) => content.map((block) => (block.type === 'text' ? block.text : '')).join('');

beforeAll(async () => {
  if (whyNoSandboxes === undefined) await world.start();
}, 120_000);
afterAll(async () => {
  if (whyNoSandboxes === undefined) {
    await world.noteAll();
    await world.destroyAll();
  }
  await world.close();
}, 120_000);
beforeEach((context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
});

/** A loop that does nothing but count, and how far it has come by its own processor time. */
async function busy(sandbox: SandboxHandle) {
  const process = await sandbox.processes.start('i=0; while :; do i=$((i+1)); [ $((i % 20000)) = 0 ] && echo $i; done');
  const counted = async () => (await process.refresh()).record.stdoutBytes;
  const processorTime = async () => (await sandbox.stats()).cpuSeconds;
  await until(async () => expect(await counted()).toBeGreaterThan(0));
  return { process, counted, processorTime };
}

describe.concurrent('a pause', () => {
  test('lets a busy loop stand still, and resume lets it go on where it was', async () => {
    const sandbox = await create();
    const { counted, processorTime } = await busy(sandbox);
    const running = await processorTime();
    let ran = 0;
    await until(async () => {
      ran = (await processorTime()) - running;
      expect(ran).toBeGreaterThan(0.2);
    });
    await sandbox.pause();
    expect(sandbox.state).toBe('paused');
    await sleep(3_000);
    await sandbox.resume();
    const before = await processorTime();
    // The moments before the pause and after it, and nothing of the three seconds in between.
    expect(before - running - ran).toBeLessThan(1);
    const at = await counted();
    await until(async () => expect(await counted()).toBeGreaterThan(at));
    await sandbox.destroy();
  }, 120_000);

  test('refuses commands and tools, but for the answer of a call that was there before', async () => {
    const sandbox = await create();
    const first = await sandbox.tools.run('bash', { command: 'echo once' }, { callId: 'before' });
    await sandbox.pause();
    const refused = { code: 'sandbox_paused' };
    await expect(sandbox.exec('true')).rejects.toMatchObject(refused);
    await expect(sandbox.tools.run('glob', { pattern: '*' })).rejects.toMatchObject(refused);
    await expect(sandbox.files.stat('/etc')).rejects.toMatchObject(refused);
    expect(await sandbox.tools.run('bash', { command: 'echo once' }, { callId: 'before' })).toEqual(first);
    await sandbox.destroy();
  }, 120_000);

  test('waits for running tools, and takes no new ones meanwhile', async () => {
    const sandbox = await create();
    const tool = sandbox.tools.run('bash', { command: 'sleep 1.5; echo done' });
    await sleep(500);
    const began = performance.now();
    const pausing = sandbox.pause({ drainSeconds: 30 });
    await sleep(300);
    await expect(sandbox.tools.run('bash', { command: 'true' })).rejects.toMatchObject({ code: 'sandbox_paused' });
    expect(textOf(await tool)).toBe('done\n');
    await pausing;
    expect(performance.now() - began).toBeLessThan(25_000);
    expect(await stateOf(sandbox)).toBe('paused');
    await sandbox.destroy();
  }, 120_000);

  test('waits no longer than it may: the tool stands still too and ends after the resume', async () => {
    const sandbox = await create();
    const command = 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done';
    const lines: string[] = [];
    const tool = sandbox.tools.run('bash', { command }, { onProgress: ({ text }) => lines.push(text) });
    await until(async () => expect(lines.length).toBeGreaterThan(0));
    await sandbox.pause({ drainSeconds: 0.5 });
    await sleep(300);
    const seen = lines.length;
    await sleep(2_000);
    expect(lines.length).toBe(seen);
    expect(seen).toBeLessThan(6);
    await sandbox.resume();
    expect(textOf(await tool)).toBe('1\n2\n3\n4\n5\n6\n');
    await sandbox.destroy();
  }, 120_000);

  test('is no part of the time that a tool has', async () => {
    const sandbox = await create();
    const tool = sandbox.tools.run(
      'bash',
      { command: 'for i in 1 2 3 4; do sleep 0.5; done; echo done' },
      { timeoutSeconds: 4 },
    );
    await sleep(700);
    await sandbox.pause({ drainSeconds: 0 });
    await sleep(6_000);
    await sandbox.resume();
    expect(await tool).toMatchObject({ exitCode: 0, timedOut: false });
    await sandbox.destroy();
  }, 120_000);
});

test('a tool whose sandbox goes away ends with it, frozen or not', async () => {
  for (const pause of [false, true]) {
    const sandbox = await create();
    const tool = sandbox.tools.run('bash', { command: 'sleep 60' }, { callId: 'x' }).catch((error) => error.code);
    await sleep(300);
    if (pause) await sandbox.pause({ drainSeconds: 0 });
    await sandbox.destroy();
    expect(['instance_lost', 'sandbox_destroyed', 'guest_failed', 'tool_interrupted']).toContain(await tool);
  }
}, 120_000);

describe.concurrent('by itself', () => {
  test('an idle sandbox is paused, and says why', async () => {
    const sandbox = await create({ autoPauseSeconds: 1 });
    await until(async () => expect(await stateOf(sandbox)).toBe('paused'));
    expect(sandbox.record.reason).toMatchObject({ code: 'idle' });
    await expect(sandbox.exec('true')).rejects.toMatchObject({ code: 'sandbox_paused' });
    await sandbox.resume();
    expect(sandbox.record.reason).toBeNull();
    await until(async () => expect(await stateOf(sandbox)).toBe('paused'));
    await sandbox.destroy();
  }, 120_000);

  test('what runs for somebody is use for as long as it runs; looking at the record is none', async () => {
    const sandbox = await create({ autoPauseSeconds: 1 });
    const alive = async (work: Promise<unknown>) => {
      let isOver = false;
      const over = work.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        expect(await stateOf(sandbox)).toBe('ready');
        await sleep(100);
      }
      await over;
    };
    await alive(sandbox.exec('sleep 2.5'));
    await alive(sandbox.run('sleep 2.5'));
    await alive(sandbox.tools.run('bash', { command: 'sleep 2.5' }));
    const background = await sandbox.processes.start('sleep 2.5');
    await alive(background.wait());
    await sandbox.processes.start('sleep 60');
    await until(async () => expect(await stateOf(sandbox)).toBe('paused'));
    await sandbox.destroy();
  }, 120_000);

  test('use resumes a paused sandbox, once for all who come at the same time', async () => {
    const sandbox = await create({ autoResume: true });
    await sandbox.pause();
    const all = await Promise.all([
      ...Array.from({ length: 5 }, async () => (await sandbox.exec('echo up')).stdout),
      sandbox.tools.run('bash', { command: 'echo up' }).then(textOf),
    ]);
    expect(all).toEqual(Array(6).fill('up\n'));
    const types: string[] = [];
    for await (const { type } of sandbox.events({ follow: false })) types.push(type);
    expect(types.filter((type) => type === 'caisson.sandbox.resuming')).toHaveLength(1);
    expect(await stateOf(sandbox)).toBe('ready');
    await sandbox.destroy();
  }, 120_000);

  test('use that comes in the middle of a pause waits for it and resumes', async () => {
    const sandbox = await create({ autoResume: true });
    const tool = sandbox.tools.run('bash', { command: 'sleep 1.2; echo done' });
    await sleep(400);
    const pausing = sandbox.pause({ drainSeconds: 30 });
    await until(async () => expect(await stateOf(sandbox)).toBe('pausing'));
    expect((await sandbox.exec('echo up')).stdout).toBe('up\n');
    expect(textOf(await tool)).toBe('done\n');
    await pausing;
    await sandbox.destroy();
  }, 120_000);

  test('pausing and resuming by themselves lose nothing and refuse nobody', async () => {
    const sandbox = await create({ autoPauseSeconds: 1, autoResume: true });
    for (let round = 0; round < 12; round += 1) {
      expect((await sandbox.exec(`echo ${round}`)).stdout).toBe(`${round}\n`);
      // Around the moment at which it would be paused.
      await sleep(950 + round * 10);
    }
    await sandbox.destroy();
  }, 120_000);

  test('a tool that changes files is followed by a snapshot where the sandbox asks for it, also into a pause', async () => {
    const sandbox = await create({ snapshots: { perTool: true } });
    const written = await sandbox.tools.run('write_file', { path: 'a.txt', content: 'first' });
    expect(written).toMatchObject({ snapshot: expect.stringMatching(/^snp/), notices: [] });
    const read = await sandbox.tools.run('read_file', { path: 'a.txt' });
    expect(read.snapshot).toBeNull();
    const without = await sandbox.tools.run('write_file', { path: 'a.txt', content: '2' }, { snapshot: false });
    expect(without.snapshot).toBeNull();
    const tool = sandbox.tools.run('bash', { command: 'sleep 1; echo third > a.txt' });
    await sleep(300);
    await sandbox.pause({ drainSeconds: 20 });
    expect(await tool).toMatchObject({ snapshot: expect.stringMatching(/^snp/), notices: [] });
    await sandbox.rollback(written.snapshot ?? '');
    expect(textOf(await sandbox.tools.run('read_file', { path: 'a.txt' }))).toBe('first');
    await sandbox.destroy();
  }, 120_000);
});

describe('when the server ends', () => {
  test('a pause goes on, however it ends', async () => {
    const sandbox = await create();
    const { counted, processorTime } = await busy(sandbox);
    await sandbox.pause();
    for (const end of [() => world.kill(), () => world.stop()]) {
      await end();
      await world.start();
      expect(await stateOf(sandbox)).toBe('paused');
    }
    await expect(sandbox.exec('true')).rejects.toMatchObject({ code: 'sandbox_paused' });
    await sandbox.resume();
    const before = await processorTime();
    const at = await counted();
    await until(async () => expect(await counted()).toBeGreaterThan(at));
    expect(await processorTime()).toBeGreaterThan(before);
    await sandbox.destroy();
  }, 90_000);

  test('an idle time begins anew with the server', async () => {
    const sandbox = await create({ autoPauseSeconds: 2 });
    await world.kill();
    await world.start();
    expect(await stateOf(sandbox)).toBe('ready');
    await until(async () => expect(await stateOf(sandbox)).toBe('paused'));
    await sandbox.destroy();
  }, 120_000);
});

describe('a call id across servers', () => {
  test('has the first answer after a restart, and is never run again when its server was killed', async () => {
    const sandbox = await create();
    const counting = { command: 'echo x >> count; cat count' };
    const first = await sandbox.tools.run('bash', counting, { callId: 'kept' });
    const cut = { command: 'echo y >> cut; sleep 30' };
    const running = sandbox.tools.run('bash', cut, { callId: 'cut', reconnectSeconds: 0 }).catch((error) => error.code);
    await until(async () => expect((await sandbox.exec('cat cut || true')).stdout).toBe('y\n'));
    await world.kill();
    expect(await running).toBe('server_unreachable');
    await world.start();
    expect(await sandbox.tools.run('bash', counting, { callId: 'kept' })).toEqual(first);
    const again = () => sandbox.tools.run('bash', cut, { callId: 'cut' });
    await expect(again()).rejects.toMatchObject({ code: 'tool_interrupted' });
    await expect(again()).rejects.toMatchObject({ code: 'tool_interrupted' });
    expect((await sandbox.exec('cat cut count')).stdout).toBe('y\nx\n');
    await sandbox.destroy();
  }, 120_000);

  test('of a server that shuts down is cut short too, and its program goes on', async () => {
    const sandbox = await create();
    const slow = { command: 'sleep 3; echo done > slow' };
    const running = sandbox.tools.run('bash', slow, { callId: 'slow' }).catch((error) => error.code);
    await sleep(500);
    await world.stop();
    await world.start();
    expect(await running).toBe('tool_interrupted');
    await until(async () => expect((await sandbox.exec('cat slow || true')).stdout).toBe('done\n'));
    await sandbox.destroy();
  }, 120_000);
});

test('nothing is left of any of it', async () => {
  await world.noteAll();
  await world.note(await create());
  await world.destroyAll();
  // They outlive their sandbox.
  for await (const { id } of world.client().snapshots.list()) await world.client().snapshots.delete(id);
  await world.stop();
  const left = await world.leftovers();
  await world.start();
  expect(left).toEqual([]);
}, 120_000);
