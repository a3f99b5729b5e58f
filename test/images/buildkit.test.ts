import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseEndpoint } from '../../packages/server/src/drivers/docker/endpoint.ts';
import { Engine } from '../../packages/server/src/drivers/docker/engine.ts';
import { DaemonPlace } from '../../packages/server/src/images/builders/buildkit/daemon-place.ts';
import { EnginePlace } from '../../packages/server/src/images/builders/buildkit/engine-place.ts';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import { type BuildWorld, openRules, outcomes, outputOf } from './build-world.ts';
import { BuildkitWorld } from './buildkit-world.ts';
import { explainedDifferences } from './explained-differences.ts';
import { removeScratch, scratchFolder } from './images-folder.ts';
import { differences, joinedTree } from './joined-tree.ts';
import { openBuildWorld } from './open-build-world.ts';
import { SocketBridge, toSocket } from './socket-bridge.ts';

const why = whyNoEngine('docker');
if (why !== undefined) test.skip(`builds with BuildKit: ${why}`, () => {});

/** Each test its own steps: what another one built must not be found. */
let count = 0;
const unique = () => `: ${++count}`;

describe.runIf(why === undefined)('a build with the BuildKit of a Docker engine', () => {
  let engine: RealEngine;
  let world: BuildkitWorld;
  let native: BuildWorld;

  beforeAll(async () => {
    [engine, native] = await Promise.all([startEngine('docker', ['bash']), openBuildWorld()]);
    world = await BuildkitWorld.open(engine.host);
    // As a server leaves it that is killed before it has taken its result out.
    const query = { repo: 'localhost/caisson/build-test', tag: 'left' };
    await engine.engine.call('POST', '/images/localhost%2Ftools:latest/tag', {
      query,
      signal: AbortSignal.timeout(10_000),
    });
    expect(await left()).toHaveLength(1);
  }, 180_000 * slowness);
  afterAll(async () => {
    await world?.close();
    await native?.close();
    await engine?.close();
    removeScratch();
  }, 60_000 * slowness);

  /** What there is on the engine besides bases. */
  async function left(): Promise<string[]> {
    const { body } = await engine.engine.call<{ RepoTags: string[] | null }[]>('GET', '/images/json', {
      signal: AbortSignal.timeout(10_000),
    });
    const names = body.flatMap(({ RepoTags }) => RepoTags ?? ['without a name']);
    return names.filter((name) => !/^localhost\/(tools|caisson\/image):/.test(name));
  }

  test(
    'gives the tree that the native builder gives',
    async () => {
      const context = scratchFolder();
      const folder = join(context, 'repository');
      mkdirSync(join(folder, 'src'), { recursive: true });
      writeFileSync(join(folder, 'src', 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
      symlinkSync('/etc/shadow', join(folder, 'link'));
      const plan = world.plan(
        [
          { run: 'echo "$GREETING $LINES $PWD $(id -u)" > said; ./src/run.sh', workingDirectory: '/workspace/project' },
          {
            run: 'rm /etc/motd; [[ -n $BASH_VERSION ]] && echo b > /srv/b; ln /srv/b /srv/c; rm -r /opt',
            shell: 'bash',
          },
          'chown 1234:5678 /srv/b; echo d > /srv/d; ln /srv/d /srv/e; chmod 4755 /srv/c; mkfifo /srv/pipe; mkdir -m 700 /opt; rm /var/cache/apt/archives/lock; :',
          '[ ! -e /etc/motd ] && cat /srv/b',
        ],
        {
          env: { GREETING: 'hello "world" $HOME', LINES: 'one\ntwo' },
          repository: { url: 'https://git.example/a.git', commit: 'a'.repeat(40), path: '/workspace/project' } as never,
        },
      );
      const built = await world.build(plan, { context });
      const other = await native.build(plan, { context });
      expect(outcomes(built.events)).toEqual(outcomes(other.events));
      expect(outputOf(built.events)).toContain('b\n');
      expect(built.image.config).toEqual(other.image.config);
      expect(built.image.layers).toHaveLength(other.image.layers.length);
      expect(built.image.billOfMaterials).toBe(other.image.billOfMaterials);
      const trees = [joinedTree(built.image.layers), joinedTree(other.image.layers)] as const;
      expect(trees[0].get('/srv/e')).toBe('same as /srv/d');
      expect(differences(...trees, explainedDifferences)).toEqual([]);
      expect(await left()).toEqual([]);
    },
    60_000 * slowness,
  );

  test('is found again, and after a change of its last step only that one is done', async () => {
    const steps = [`${unique()}; date +%N > a`, 'date +%N > b'];
    const plan = await world.smallPlan(steps);
    const first = await world.build(plan);
    const again = await world.build(plan);
    expect(outcomes(again.events)).toEqual(['setup-s0 cached', 'setup-s1 cached']);
    expect(again.image).toEqual(first.image);
    const changed = await world.build(await world.smallPlan([...steps.slice(0, -1), 'date +%N > c']));
    expect(outcomes(changed.events)).toEqual(['setup-s0 cached', 'setup-s1 done']);
    expect(changed.image.layers.at(-2)).toBe(first.image.layers.at(-2));
    const foreign = await world.build(plan, { tenant: 'evil' });
    expect(outcomes(foreign.events)).toEqual(['setup-s0 done', 'setup-s1 done']);
  });

  test('reaches what its rules allow and nothing else, by no way but the gate', async () => {
    const ask = (host: string) =>
      `exec 3<>/dev/tcp/127.0.0.1/29080; printf 'GET http://${host}/ HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n' >&3; read -r line <&3; echo "$line"`;
    const asking = (...hosts: string[]) =>
      world.smallPlan([`${unique()}; ls /sys/class/net; bash <<'END'\n${hosts.map(ask).join('; ')}\nEND`]);
    const built = await world.build(await asking('127.0.0.1:1', '169.254.169.254'), { rules: openRules });
    expect(outputOf(built.events)).toMatch(/^lo\s+HTTP\/1.1 403 [^\n]*\nHTTP\/1.1 403 /);
    expect(world.decided).toMatchObject([
      { host: '127.0.0.1', verdict: 'refused' },
      { host: '169.254.169.254', verdict: 'refused' },
    ]);
    await world.build(await asking('deb.debian.org'));
    expect(world.decided.at(-1)).toMatchObject({ host: 'deb.debian.org', verdict: 'refused', why: 'network_off' });
  });

  test('that fails says which step, its command, its exit code and its last lines', async () => {
    const failing = await world.smallPlan([
      `${unique()}; touch a`,
      'echo one; echo two >&2; echo "exit code: 9"; exit 3',
      'true',
    ]);
    const events: string[] = [];
    await expect(
      world.build(failing, { tell: (event) => event.kind === 'step-ended' && events.push(event.outcome) }),
    ).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('setup-s1 ended with 3'),
      context: {
        step: 'setup-s1',
        command: expect.stringContaining('exit 3'),
        exitCode: 3,
        lastLines: expect.arrayContaining(['one', 'two', 'exit code: 9']),
      },
    });
    expect(events).toEqual(['done', 'failed']);
    expect(await left()).toEqual([]);
    expect(readdirSync(join(world.folder, 'images', 'making'))).toEqual([]);
  });

  test('refuses sources that no archive of a layer can hold, and those that are not there', async () => {
    const context = scratchFolder();
    const repository = { url: 'https://git.example/a.git', commit: 'a'.repeat(40), path: '/workspace/project' };
    const plan = { ...(await world.smallPlan([unique()])), repository: repository as never };
    const missing = { code: 'build_failed', context: { step: 'repository' } };
    await expect(world.build(plan, { context })).rejects.toMatchObject(missing);
    mkdirSync(join(context, 'repository'));
    writeFileSync(join(context, 'repository', '.wh.passwd'), 'a file');
    const refused = { code: 'unsupported-runtime-requirement', message: expect.stringContaining('.wh.passwd') };
    await expect(world.build(plan, { context })).rejects.toMatchObject(refused);
  });

  test('that hangs or is cancelled is ended there too', async () => {
    const hanging = async (limit: object) =>
      world.build(await world.smallPlan([`${unique()}; echo up; sleep 86399`]), limit);
    await expect(hanging({ limits: { stepMs: 500 } })).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('did not end within'),
      context: { step: 'setup-s0' },
    });
    const abort = new AbortController();
    const building = hanging({
      signal: abort.signal,
      tell: (event: { kind: string }) => event.kind === 'output' && abort.abort(),
    });
    await expect(building).rejects.toMatchObject({ code: 'action_cancelled', context: { step: 'setup-s0' } });
    await expect.poll(() => sleepers(), { timeout: 30_000 * slowness }).toEqual([]);
    expect(await left()).toEqual([]);
  });

  test('whose engine goes away or falls silent says so, with the step', async () => {
    const path = join(scratchFolder(), 'engine');
    const bridge = await SocketBridge.open(path, toSocket(engine.host));
    const before = world.place;
    world.place = new EnginePlace(new Engine(parseEndpoint(`unix://${path}`), []), world.packer, 'test');
    const during = async (then: () => void) => {
      const tell = (event: { kind: string }) => event.kind === 'output' && then();
      const plan = await world.smallPlan([`${unique()}; echo up; sleep 86399`]);
      return world.build(plan, { tell, limits: { patienceMs: 1_000 * slowness } });
    };
    try {
      const context = { step: 'setup-s0' };
      const gone = { code: 'driver_unavailable', message: expect.stringContaining('went away'), context };
      await expect(during(() => bridge.cut())).rejects.toMatchObject(gone);
      const silent = { code: 'driver_unavailable', message: expect.stringContaining('silent'), context };
      await expect(during(() => bridge.stall())).rejects.toMatchObject(silent);
    } finally {
      bridge.close();
      world.place = before;
    }
    await expect.poll(() => sleepers(), { timeout: 30_000 * slowness }).toEqual([]);
  });

  test('a buildkitd is asked on its own socket, and where there is none that is said', async () => {
    const path = join(scratchFolder(), 'buildkitd');
    const signal = AbortSignal.timeout(20_000);
    const bridge = await SocketBridge.open(path, () => engine.engine.upgrade('/grpc', { signal }, 'h2c'));
    const before = world.place;
    try {
      world.place = new DaemonPlace(parseEndpoint(`unix://${path}`), world.packer);
      expect(await world.builder().probe(signal)).toBeUndefined();
      bridge.close();
      const trouble = { why: expect.stringContaining(path), fix: expect.stringContaining('--buildkit-host') };
      expect(await world.builder().probe(signal)).toMatchObject(trouble);
    } finally {
      bridge.close();
      world.place = before;
    }
  });
});

function sleepers(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === 'sleep\x0086399\0';
      } catch {
        return false;
      }
    });
}
