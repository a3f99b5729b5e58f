import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slowness } from '../slowness.ts';
import { type BuildWorld, noNetwork, openRules, outcomes, outputOf } from './build-world.ts';
import { isRoot, removeScratch, scratchFolder } from './images-folder.ts';
import { openBuildWorld } from './open-build-world.ts';

if (!isRoot) test.skip('native builds: need root', () => {});

/** Each test its own steps: what another one built must not be found. */
let count = 0;
const unique = () => `: ${++count}`;

describe.runIf(isRoot)('a native build', () => {
  let world: BuildWorld;

  beforeAll(async () => {
    world = await openBuildWorld();
  }, 180_000 * slowness);
  afterAll(async () => {
    await world?.close();
    removeScratch();
  });

  test('makes a layer of what each step changed, and of nothing else', async () => {
    const plan = world.plan(
      [
        { run: 'echo "$GREETING $PWD $(id -u)" > said', workingDirectory: '/workspace/deep' },
        { run: 'rm /etc/motd; [[ -n $BASH_VERSION ]] && echo b > /srv/b', shell: 'bash' },
        '[ ! -e /etc/motd ] && cat /srv/b',
      ],
      { env: { GREETING: 'hello "world" $HOME' } },
    );
    const { image, events } = await world.build(plan);
    expect(outcomes(events)).toEqual(['setup-s0 done', 'setup-s1 done', 'setup-s2 done']);
    // The last step changed nothing.
    expect(image.layers).toHaveLength(world.base.layers.length + 2);
    const [first = '', second = ''] = image.layers.slice(world.base.layers.length);
    expect(readdirSync(first, { recursive: true }).sort()).toEqual([
      'home',
      'home/user',
      'workspace',
      'workspace/deep',
      'workspace/deep/said',
    ]);
    expect(readdirSync(second, { recursive: true }).sort()).toEqual(['etc', 'etc/motd', 'srv', 'srv/b']);
    expect(readFileSync(join(first, 'workspace/deep/said'), 'utf8')).toBe('hello "world" $HOME /workspace/deep 0\n');
    expect(outputOf(events)).toBe('b\n');
    expect(image.config.env).toMatchObject({ GREETING: 'hello "world" $HOME' });
    expect(image.billOfMaterials).toContain('CycloneDX');
    // What the base brought is inside too.
    expect(image.billOfMaterials).toContain('pkg:deb/debian/base-files@');
    expect(world.remains()).toEqual([]);
  });

  test('is found again, and after a change of its last step only that one is done', async () => {
    const steps = [`${unique()}; date +%N > a`, 'date +%N > b'];
    const first = await world.build(world.plan(steps));
    const again = await world.build(world.plan(steps));
    expect(outcomes(again.events)).toEqual(['setup-s0 cached', 'setup-s1 cached']);
    expect(again.image).toEqual(first.image);
    const changed = await world.build(world.plan([...steps.slice(0, -1), 'date +%N > c']));
    expect(outcomes(changed.events)).toEqual(['setup-s0 cached', 'setup-s1 done']);
    const foreign = await world.build(world.plan(steps), { tenant: 'evil' });
    expect(outcomes(foreign.events)).toEqual(['setup-s0 done', 'setup-s1 done']);
  });

  test('of two at once does a step that both have once', async () => {
    const step = `${unique()}; date +%N > a`;
    const both = await Promise.all([world.build(world.plan([step])), world.build(world.plan([step, 'touch b']))]);
    expect(both[0].image.layers.at(-1)).toBe(both[1].image.layers.at(-2));
  });

  test('brings files in: the user’s, links kept, names that look like marks of removal too', async () => {
    const context = scratchFolder();
    const folder = join(context, 'repository');
    mkdirSync(join(folder, 'src', '.git'), { recursive: true });
    writeFileSync(join(folder, 'src', 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(folder, '.wh.passwd'), 'a file');
    symlinkSync('/etc/shadow', join(folder, 'link'));
    const repository = { url: 'https://git.example/a.git', commit: 'a'.repeat(40), path: '/workspace/project' };
    const plan = world.plan([`${unique()}; stat -c "%u:%g %a %n" src/run.sh > /srv/found`], {
      repository: repository as never,
      steps: [
        {
          ...{ id: 's0', shell: 'sh', user: 'root', workingDirectory: '/workspace/project' },
          run: `${unique()}; stat -c "%u:%g %a %Y %n" src/run.sh > /srv/found`,
        },
      ],
    });
    const { image, events } = await world.build(plan, { context });
    expect(outcomes(events)).toEqual(['repository done', 'setup-s0 done']);
    const [copied = '', ran = ''] = image.layers.slice(-2);
    expect(readFileSync(join(ran, 'srv/found'), 'utf8')).toBe('1000:1000 755 946684800 src/run.sh\n');
    expect(readdirSync(join(copied, 'workspace/project')).sort()).toEqual(['.wh.passwd', 'link', 'src']);
    // The same commit is not brought in again, whatever git wrote beside it when it was fetched, and nor is what follows.
    const later = scratchFolder();
    mkdirSync(join(later, 'repository', '.git'), { recursive: true });
    writeFileSync(join(later, 'repository', '.git', 'index'), 'when it was fetched');
    const relabelled = { ...plan, labels: { another: 'one' } };
    expect(outcomes((await world.build(relabelled, { context: later })).events)).toEqual([
      'repository cached',
      'setup-s0 cached',
    ]);
    const other = { ...plan, steps: plan.steps.map((step) => ({ ...step, run: `${step.run}; ${unique()}` })) };
    expect(outcomes((await world.build(other, { context: later })).events)).toEqual([
      'repository cached',
      'setup-s0 done',
    ]);
    rmSync(join(later, 'repository'), { recursive: true });
    const without = { ...plan, labels: { other: 'one' } };
    await expect(world.build(without, { context: later })).rejects.toMatchObject({
      code: 'build_failed',
      context: { step: 'repository' },
    });
  });

  test('leaves what setup made at home and in the workspace to the user, however the step ends', async () => {
    const context = scratchFolder();
    mkdirSync(join(context, 'repository'));
    writeFileSync(join(context, 'repository', 'old'), 'a file\n');
    const content = { kind: 'folder', digest: `sha256:${'b'.repeat(64)}`, path: '/workspace/repo' };
    const run = `${unique()}; git init -q . 2>/dev/null || :; touch new /srv/root ~/.rc; chown 7 ~/.rc; touch ~/.own; exec true`;
    const step = { id: 's0', shell: 'sh', user: 'root', workingDirectory: '/workspace/repo/sub', run } as const;
    const plan = world.plan([], { repository: content as never, workspaceRoot: '/workspace', steps: [step] });
    const { image } = await world.build(plan, { context });
    const [, made = ''] = image.layers.slice(-2);
    const owner = (path: string) => lstatSync(join(made, path)).uid;
    expect(['workspace/repo/sub/new', 'workspace/repo/sub', 'home/user/.own', 'home/user'].map(owner)).toEqual([
      ...[1000, 1000, 1000, 1000],
    ]);
    expect([owner('srv/root'), owner('home/user/.rc')]).toEqual([0, 7]);
    // What was the user's already is not copied into the layer.
    expect(existsSync(join(made, 'workspace/repo/old'))).toBe(false);
  });

  test('that fails says which step, its command, its exit code and its last lines, and keeps the steps before', async () => {
    const before = `${unique()}; touch a`;
    // So much that the two outputs, were they read apart, would not keep their order.
    const failing = world.plan([before, 'seq 1 100000; echo one; echo two >&2; exit 3']);
    await expect(world.build(failing)).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('setup-s1 ended with 3: two'),
      context: {
        step: 'setup-s1',
        command: expect.stringContaining('echo two >&2; exit 3'),
        exitCode: 3,
        lastLines: expect.arrayContaining(['one', 'two']),
      },
    });
    expect(world.remains()).toEqual([]);
    const repaired = await world.build(world.plan([before, 'echo one']));
    expect(outcomes(repaired.events)).toEqual(['setup-s0 cached', 'setup-s1 done']);
  });

  test('whose step hangs is ended with everything in it', async () => {
    const plan = world.plan([`${unique()}; sleep 1000000 & echo waiting; wait`]);
    await expect(world.build(plan, { limits: { stepMs: 300 } })).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('did not end within'),
      context: { step: 'setup-s0' },
    });
    expect(world.remains()).toEqual([]);
  });

  test('whose step floods its log ends, and the flood is told of once', async () => {
    const plan = world.plan([`${unique()}; head -c 30000000 /dev/zero | tr '\\0' 'x'; echo; echo the end >&2`]);
    const { events } = await world.build(plan, { limits: { logBytes: 100_000 } });
    const output = outputOf(events);
    expect(output.length).toBeLessThan(300_000);
    expect(output.match(/what follows is not kept/g)).toHaveLength(1);
  });

  test('whose step fills the disk says so', async () => {
    const plan = world.plan([`${unique()}; head -c 200000000 /dev/zero > large || rm large; test -e large`]);
    await expect(world.build(plan, { limits: { diskBytes: 32 * 1024 ** 2 } })).rejects.toMatchObject({
      code: 'disk_quota_exceeded',
      context: { step: 'setup-s0' },
    });
    expect(world.remains()).toEqual([]);
  });

  test('that is cancelled ends soon, for the reason that was given', async () => {
    const controller = new AbortController();
    let cancelledAt = 0;
    const tell = ({ kind }: { kind: string }) => {
      if (kind !== 'output' || controller.signal.aborted) return;
      cancelledAt = performance.now();
      controller.abort(new Error('enough'));
    };
    const plan = world.plan([`${unique()}; echo begun; (trap '' TERM INT; sleep 1000000) & sleep 1000000`]);
    await expect(world.build(plan, { signal: controller.signal, tell })).rejects.toMatchObject({
      code: 'action_cancelled',
      context: { step: 'setup-s0' },
    });
    // It takes a tenth of a second; 2 s are promised, of a machine that has nothing else to do.
    expect(performance.now() - cancelledAt).toBeLessThan(20_000 * slowness);
    expect(world.remains()).toEqual([]);
  });

  test('of a plan for another kind of machine is refused before anything is done', async () => {
    const here = world.plan([unique()]);
    const architecture = here.platform.architecture === 'amd64' ? 'arm64' : 'amd64';
    const plan = { ...here, platform: { ...here.platform, architecture } } as typeof here;
    await expect(world.build(plan)).rejects.toMatchObject({ code: 'unsupported-os' });
  });

  test('is no sandbox that anybody sees, and the reconciler leaves it alone', async () => {
    const { reconciler, stale, store, drivers } = world.control;
    const controller = new AbortController();
    let looking: Promise<unknown[]> | undefined;
    const lookAround = async () => {
      const signal = AbortSignal.timeout(10_000 * slowness);
      const repairs = await reconciler.pass();
      const { items } = await stale.find(operator, 1_000_000);
      const sandboxes = await store.sandboxes.unsettled(10);
      const alive = (await drivers[0]?.list(signal))?.instances.filter(({ ended }) => !ended).length;
      controller.abort(new Error('seen'));
      return [repairs, items, sandboxes, alive];
    };
    const tell = ({ kind }: { kind: string }) => {
      if (kind === 'output') looking = lookAround();
    };
    const plan = world.plan([`${unique()}; echo begun; sleep 1000000`]);
    await expect(world.build(plan, { tell, signal: controller.signal })).rejects.toMatchObject({
      code: 'action_cancelled',
    });
    expect(await looking).toEqual([[], [], [], 1]);
  });

  describe('with a network', () => {
    let server: Server;
    let fetching: string;

    beforeAll(async () => {
      server = createServer((_, response) => response.end('from outside'));
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      const { port } = server.address() as AddressInfo;
      fetching = [
        'exec 3<>"/dev/tcp/127.0.0.1/29080" || exit 9',
        `printf 'GET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: 127.0.0.1:${port}\\r\\nConnection: close\\r\\n\\r\\n' >&3`,
        'cat <&3 | tr "\\r" "\\n" | tee got | head -1; echo "$http_proxy"',
      ].join('\n');
    });
    afterAll(() => server?.close());

    const steps = () => [{ run: `${unique()}\n${fetching}`, shell: 'bash' as const }];

    test('reaches what its rules allow', async () => {
      const { image, events } = await world.build(world.plan(steps()), { rules: openRules });
      expect(outputOf(events)).toContain('200 OK');
      expect(outputOf(events)).toContain('http://127.0.0.1:29080');
      expect(readFileSync(join(image.layers.at(-1) ?? '', 'workspace/got'), 'utf8')).toContain('from outside');
      expect(JSON.stringify(image.config)).not.toContain('29080');
    });

    test('leaves nothing to those who may not reach the same', async () => {
      const plan = world.plan(steps().map((step) => ({ ...step, run: `${step.run}\n:` })));
      await world.build(plan, { rules: openRules });
      await expect(world.build(plan, { rules: noNetwork })).rejects.toMatchObject({ context: { step: 'setup-s0' } });
      expect(outcomes((await world.build(plan, { rules: openRules })).events)).toEqual(['setup-s0 cached']);
    });

    test('does not reach what they refuse', async () => {
      const { events } = await world.build(world.plan(steps()), { rules: { ...openRules, deny: ['127.0.0.1'] } });
      expect(outputOf(events)).toContain('403 Refused by Caisson');
    });

    test('has no way out at all when they say so', async () => {
      await expect(world.build(world.plan(steps()), { rules: noNetwork })).rejects.toMatchObject({
        code: 'build_failed',
        context: { exitCode: expect.any(Number), step: 'setup-s0' },
      });
    });
  });
});

const operator = {
  owner: { tenant: 'acme', project: 'ops', principal: 'boss' },
  ...{ scope: 'admin' as const, key: null },
};
