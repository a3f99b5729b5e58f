import type { ProposedPlan } from '@caisson/contract';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CliWorld } from './cli-world.ts';
import { testServer } from './server.ts';

const world = new CliWorld();
let caisson: Caisson;

beforeAll(async () => {
  const server = world.start(['serve', '--data', world.data, '--listen', '127.0.0.1:0']);
  const [address = ''] = await server.until(/http:\/\/127\.0\.0\.1:\d+/);
  caisson = new Caisson({ baseUrl: address });
});
afterAll(() => world.close());

// Alpine has no index, and Debian without packages asks for none: nothing here needs a network.
const alpine = 'source: {kind: none}\nos: alpine\npackages: [go, psql]\nenv: {GREETING: hello}\n';
const debian = 'source: {kind: none}\nos: debian\nsetup: make\n';

test('the plan of a spec is JSON, with what is open', async () => {
  const { code, out } = await world.run(['plan', '-', '--json'], { stdin: alpine });
  expect(code).toBe(0);
  const proposed = JSON.parse(out) as ProposedPlan;
  expect(proposed).toMatchObject({
    planDigest: null,
    unresolved: ['base'],
    plan: { os: { family: 'alpine', release: '3.22' }, base: null },
  });
  const plain = await world.run(['plan', '-'], { stdin: alpine });
  expect(JSON.parse(plain.out)).toEqual(proposed.plan);
});

test('--explain says what will be done, and why', async () => {
  const { out } = await world.run(['plan', '-', '--explain'], { stdin: alpine });
  expect(out).toContain('go: apk installs go\n      because the spec asks for it');
  expect(out).toContain('psql: apk installs postgresql-client');
  expect(out).toContain('bash: apk installs bash\n      because it is the login shell');
  expect(out).toContain('given at launch, and a change needs no new image');
});

test('--containerfile is the same as text that a builder takes', async () => {
  const { out } = await world.run(['plan', '-', '--containerfile'], { stdin: debian });
  expect(out).toMatch(/^# Made by Caisson[^\n]*\nFROM scratch\n/);
  expect(out).toContain('cd /workspace/repo\\n(\\nmake\\n)');
  const open = await world.run(['plan', '-', '--containerfile'], { stdin: alpine });
  expect(open.code).not.toBe(0);
  expect(open.err).toContain('before base is known');
});

test('the SDK makes the same plan', async () => {
  const spec = { source: { kind: 'none' }, os: 'alpine', packages: ['go', 'psql'], env: { GREETING: 'hello' } };
  const first = await caisson.plan({ spec });
  expect(await caisson.plan({ spec: { ...spec, packages: ['psql', 'go'] } })).toMatchObject({ plan: first.plan });
  expect(await caisson.plan({})).toMatchObject({ plan: { packages: [] } });
});

test('a server that is given a name service asks it for what nobody else knows', async () => {
  const asked: string[] = [];
  const lookup = async (word: string) => {
    asked.push(word);
    return ['cowsay'];
  };
  const server = await testServer({ drivers: ['fake'], packageNames: { lookup } });
  try {
    const spec = { source: { kind: 'none' }, os: 'alpine', packages: ['go', 'talking-cow'] };
    const { plan } = await new Caisson({ baseUrl: server.url }).plan({ spec });
    expect(plan.packages).toContainEqual(expect.objectContaining({ nativeName: 'cowsay' }));
    expect(asked).toEqual(['talking-cow']);
  } finally {
    await server.close();
  }
});

test.each([
  [{ packages: ['postgres'] }, 'unsupported-package', 'tooling.packages[0]'],
  [{ packages: ['no-such-thing-at-all'] }, 'unsupported-package', 'tooling.packages[0]'],
  [{ os: 'host' }, 'unsupported-os', 'target.os.family'],
  [{ harness: { id: 'claude-code', version: 'latest' } }, 'unsupported-harness', 'harness.version'],
  [{ packges: [] }, 'spec_invalid', 'packges'],
])('%j is refused as %s at %s', async (change, code, path) => {
  const spec = { source: { kind: 'none' }, os: 'alpine', ...change };
  await expect(caisson.plan({ spec })).rejects.toMatchObject({ code, problems: [{ path }] });
});
