import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CaissonError, newId } from '@caisson/contract';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ContextRequest } from '../../packages/server/src/builds/build-context.ts';
import { Builds, type BuildsOptions } from '../../packages/server/src/builds/builds.ts';
import { openStore, type Store } from '../../packages/server/src/store/store.ts';
import { type Span, Spans } from '../../packages/server/src/telemetry/spans.ts';
import type { TracePlace } from '../../packages/server/src/telemetry/trace-parent.ts';
import {
  blueprint,
  buildThat,
  digestOf,
  failing,
  logOf,
  newPlan,
  ScriptedBuilder,
  untilStopped,
} from './scripted-builder.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-builds-'));
const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
const never = new AbortController().signal;
let store: Store;
const open: Builds[] = [];

beforeAll(async () => {
  store = await openStore({ sqlite: join(folder, 'caisson.db') });
});
afterEach(async () => {
  for (const builds of open.splice(0)) await builds.close();
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

async function start(builder: ScriptedBuilder, options: Partial<BuildsOptions> = {}): Promise<Builds> {
  const builds = new Builds({ store, beatMs: 100, ...options });
  open.push(builds);
  await builds.open(builder);
  return builds;
}

const wanted = (change = {}) => ({ owner, blueprint, ...newPlan(change) });

test('a build is done, with its steps, its log and its image, and found by whoever wants the same', async () => {
  const builds = await start(
    new ScriptedBuilder(async ({ tell }) => {
      tell({ kind: 'step-began', step: 'setup-one', title: 'setup: one' });
      tell({ kind: 'output', step: 'setup-one', text: 'hello\n' });
      tell({ kind: 'step-ended', step: 'setup-one', outcome: 'done', ms: 12.4 });
      return digestOf('a');
    }),
  );
  const want = wanted();
  const { id } = await builds.request(want);
  const build = await builds.ended(id, never);
  expect(build).toMatchObject({ state: 'succeeded', builder: 'native', image: digestOf('a'), tries: 1, logBytes: 6 });
  expect(build.steps).toMatchObject([{ id: 'setup-one', title: 'setup: one', state: 'done', ms: 12 }]);
  await buildThat(store, id, ({ state }) => state === 'succeeded');
  const log = [];
  for await (const item of (await builds.follow({ owner, scope: 'read', key: null }, id, 0)).source(never))
    log.push(item.kind);
  expect(log).toEqual(['step-began', 'output', 'step-ended', 'ended']);
  expect(await builds.find(want)).toEqual({ build: id, image: digestOf('a') });
  expect(await builds.find({ ...want, owner: { ...owner, tenant: 'other' } })).toMatchObject({ build: id });
});

test('a build goes on with the trace of whoever asked for it, also on another server', async () => {
  const asking = new Spans();
  asking.trace(() => {});
  const told: Span[] = [];
  const working = new Spans();
  working.trace((span) => told.push(span));
  const asked = new Builds({ store, spans: asking });
  let place: TracePlace | undefined;
  const { id } = await asking.run('create', {}, async () => {
    place = asking.here;
    return asked.request(wanted());
  });
  const builds = await start(
    new ScriptedBuilder(async () => {
      await working.run('inner', {}, async () => {});
      return digestOf('a');
    }),
    { spans: working },
  );
  await builds.ended(id, never);
  const [inner, job] = told;
  expect(job).toMatchObject({ name: 'build.job', place: { trace: place?.trace, parent: place?.span } });
  expect(inner).toMatchObject({ name: 'inner', place: { trace: place?.trace, parent: job?.place?.span } });
});

test('two who want the same wait for one build', async () => {
  const builder = new ScriptedBuilder();
  const builds = await start(builder);
  const want = wanted();
  const [one, other] = await Promise.all([builds.request(want), builds.request(want)]);
  expect(other.id).toBe(one.id);
  await Promise.all([builds.ended(one.id, never), builds.ended(other.id, never)]);
  expect(builder.requests).toHaveLength(1);
});

test('what can heal is tried again; a command that fails is not, and tells itself', async () => {
  const builder = new ScriptedBuilder(async (_, call) => {
    if (call === 1) throw new CaissonError('guest_unreachable', 'the room went away');
    throw failing();
  });
  const builds = await start(builder);
  const { id } = await builds.request(wanted());
  await expect(builds.ended(id, never)).rejects.toMatchObject({
    code: 'build_failed',
    context: { build: id, step: 'setup-1', command: 'false', exitCode: 3, lastLines: ['one', 'two'] },
  });
  expect(builder.requests).toHaveLength(2);
  const notes = (await logOf(store, id)).map(({ text }) => text);
  expect(notes).toContain('it is tried again: the room went away');
  expect(notes).toContain('try 2 of 4');
});

test('a running build that is cancelled is told so at once', async () => {
  const builder = new ScriptedBuilder(untilStopped);
  const builds = await start(builder, { beatMs: 60_000 });
  const { id } = await builds.request(wanted());
  await buildThat(store, id, ({ state }) => state === 'running');
  const cancelled = await builds.cancel({ owner, scope: 'use', key: null }, id);
  expect(cancelled).toMatchObject({ state: 'cancelled', error: { message: 'ada cancelled it' } });
  await expect(builds.ended(id, never)).rejects.toMatchObject({ code: 'build_cancelled' });
  expect(builder.requests[0]?.signal.aborted).toBe(true);
});

test('one that another server cancels stops at the next heartbeat', async () => {
  const builder = new ScriptedBuilder(untilStopped);
  await start(builder);
  const elsewhere = new Builds({ store });
  const { id } = await elsewhere.request(wanted());
  await buildThat(store, id, ({ state }) => state === 'running');
  await elsewhere.cancel({ owner, scope: 'use', key: null }, id);
  await new Promise((resolve) => builder.requests[0]?.signal.addEventListener('abort', resolve));
  expect(await store.builds.get(id)).toMatchObject({ state: 'cancelled' });
});

test('a worker that falls silent loses its build to another, and is not believed afterwards', async () => {
  let release = () => {};
  const silent = new ScriptedBuilder(async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return digestOf('a');
  });
  const first = await start(silent, { leaseMs: 300, beatMs: 60_000 });
  const { id } = await first.request(wanted());
  await buildThat(store, id, ({ state }) => state === 'running');
  const second = await start(new ScriptedBuilder(async () => digestOf('b')));
  const build = await second.ended(id, never);
  expect(build).toMatchObject({ state: 'succeeded', image: digestOf('b'), tries: 2 });
  release();
  await first.close();
  expect(await store.builds.get(id)).toMatchObject({ image: digestOf('b') });
});

test('a server that ends gives its builds back, and the next goes on without counting a try', async () => {
  const first = await start(new ScriptedBuilder(untilStopped));
  const { id } = await first.request(wanted());
  await buildThat(store, id, ({ state }) => state === 'running');
  await first.close();
  const second = await start(new ScriptedBuilder());
  expect(await second.ended(id, never)).toMatchObject({ state: 'succeeded', tries: 1 });
});

test('only so many run at a time', async () => {
  let running = 0;
  let most = 0;
  const builder = new ScriptedBuilder(async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 30));
    running -= 1;
    return digestOf('a');
  });
  const builds = await start(builder, { atOnce: 2 });
  const asked = await Promise.all(Array.from({ length: 6 }, () => builds.request(wanted())));
  await Promise.all(asked.map(({ id }) => builds.ended(id, never)));
  expect(most).toBe(2);
});

test('a log that floods keeps its beginning and its end, and says what is left out', async () => {
  const line = `${'x'.repeat(999)}\n`;
  const builder = new ScriptedBuilder(async ({ tell }) => {
    for (let n = 0; n < 60; n += 1) {
      tell({ kind: 'output', step: 's', text: `${n}${line}` });
      // Each a write of its own.
      if (n % 5 === 4) await new Promise((resolve) => setTimeout(resolve, 160));
    }
    return digestOf('a');
  });
  const bounds = { headBytes: 10_000, tailBytes: 10_000, waitingBytes: 100_000 };
  const builds = await start(builder, { bounds });
  const { id } = await builds.request(wanted());
  const build = await builds.ended(id, never);
  const log = await logOf(store, id);
  const kept = log.filter(({ kind }) => kind === 'output').map(({ text }) => Number.parseInt(text, 10));
  expect(kept[0]).toBe(0);
  expect(kept.at(-1)).toBe(59);
  expect(kept.length).toBeLessThan(22);
  const { logBytes, leftOutBytes } = build;
  const bytes = log.filter(({ kind }) => kind === 'output').reduce((sum, { text }) => sum + text.length, 0);
  expect(logBytes - leftOutBytes).toBe(bytes);
  expect(log.find(({ kind }) => kind === 'note')?.text).toContain(`${leftOutBytes} bytes are left out`);
});

test('what comes faster than it can be written is thinned out before it costs memory, but for its end', async () => {
  const builder = new ScriptedBuilder(async ({ tell }) => {
    tell({ kind: 'step-began', step: 's', title: 'flood' });
    for (let n = 0; n < 1_000; n += 1) tell({ kind: 'output', step: 's', text: 'y'.repeat(1_000) });
    tell({ kind: 'output', step: 's', text: 'why it ended\n' });
    tell({ kind: 'step-ended', step: 's', outcome: 'done', ms: 1 });
    return digestOf('a');
  });
  const bounds = { headBytes: 1_000_000, tailBytes: 1_000_000, waitingBytes: 5_010 };
  const builds = await start(builder, { bounds });
  const { id } = await builds.request(wanted());
  expect(await builds.ended(id, never)).toMatchObject({ logBytes: 1_000_013, leftOutBytes: 995_000 });
  expect((await logOf(store, id)).slice(-4)).toMatchObject([
    { kind: 'note', text: expect.stringContaining('995000 bytes came faster') },
    { kind: 'output', text: 'why it ended\n' },
    { kind: 'step-ended' },
    { kind: 'ended' },
  ]);
});

test('files from elsewhere are brought in for the build and removed after it, also when it fails', async () => {
  const repository = { url: 'https://example.com/a.git', commit: 'c'.repeat(40), path: '/workspace/repo' };
  const disposed: string[] = [];
  const context = async ({ plan }: ContextRequest) => {
    const place = plan.repository && 'commit' in plan.repository ? plan.repository.commit : 'none';
    return { folder: place, dispose: async () => void disposed.push(place) };
  };
  const builder = new ScriptedBuilder(async ({ context: found }) => {
    expect(found).toBe(repository.commit);
    throw failing();
  });
  const builds = await start(builder, { context });
  const { id } = await builds.request(wanted({ repository }));
  await expect(builds.ended(id, never)).rejects.toMatchObject({ code: 'build_failed' });
  expect(disposed).toEqual([repository.commit]);
});

test('a build that the last sandbox leaves is stopped; while another waits it goes on', async () => {
  const builds = await start(new ScriptedBuilder(untilStopped));
  const { id } = await builds.request(wanted());
  await buildThat(store, id, ({ state }) => state === 'running');
  const follow = (await builds.follow({ owner, scope: 'read', key: null }, id, 0)).source(never);
  await builds.leave(id, newId('sandbox'));
  const items = [];
  for await (const item of follow) items.push(item);
  expect(items.at(-1)).toMatchObject({ kind: 'ended', outcome: 'cancelled' });
});

test("a stranger's build is answered like one that does not exist", async () => {
  const builds = await start(new ScriptedBuilder());
  const { id } = await builds.request(wanted());
  const eve = { owner: { tenant: 'evil', project: 'web', principal: 'eve' }, scope: 'admin', key: null } as const;
  for (const ask of [
    builds.get(eve, id),
    builds.logs(eve, id, 0, 1),
    builds.follow(eve, id, 0),
    builds.cancel(eve, id),
  ])
    await expect(ask).rejects.toMatchObject({ code: 'build_not_found' });
  const bob = { owner: { ...owner, principal: 'bob' }, scope: 'use', key: null } as const;
  await expect(builds.cancel(bob, id)).rejects.toMatchObject({ code: 'not_owner' });
  await builds.ended(id, never);
});

test('a message that cannot be read is dead at once', async () => {
  const kind = 'workspace-build-job.requested';
  const { id } = await store.jobs.enqueue({ kind, payload: { version: 99 } });
  await start(new ScriptedBuilder());
  for (;;) {
    const job = await store.jobs.get(id);
    if (job?.state === 'dead') return expect(job.error).toContain('message');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});
