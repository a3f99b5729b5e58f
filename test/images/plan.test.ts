import { join } from 'node:path';
import { buildArtifactsSchema, canonicalJson, resolvedImagePlanSchema } from '@caisson/workspace-composition';
import { planDigest } from '@caisson/workspace-composition/digest';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { distributions } from '../../packages/server/src/images/packages/distributions.ts';
import { billOfMaterials } from '../../packages/server/src/images/plan/bill-of-materials.ts';
import { buildSpec } from '../../packages/server/src/images/plan/build-spec.ts';
import { renderContainerfile } from '../../packages/server/src/images/plan/containerfile.ts';
import { finishPlan } from '../../packages/server/src/images/plan/make-plan.ts';
import { osExecutors } from '../../packages/server/src/images/plan/os-executor.ts';
import { readContainerfile } from './containerfile-reader.ts';
import { blueprintOf, commit, digest, draftOf, planOf, richSpec } from './plan-samples.ts';

const golden = join(import.meta.dirname, 'golden');
const output = { kind: 'oci-archive', path: 'image.tar' } as const;

describe.each(distributions)('%s', (os) => {
  const plan = planOf(blueprintOf({ ...richSpec, os }));

  test('the plan is the one that was reviewed', async () => {
    expect(resolvedImagePlanSchema.parse(plan)).toEqual(plan);
    await expect(`${JSON.stringify(plan, null, 2)}\n`).toMatchFileSnapshot(join(golden, `${os}.plan.txt`));
  });

  test('the Containerfile is the one that was reviewed', async () => {
    await expect(buildSpec(plan, output).dockerfile).toMatchFileSnapshot(join(golden, `${os}.Containerfile`));
  });
});

test('an image is built upon as it is', async () => {
  const os = { family: 'image', reference: 'registry.example/tools:v1' };
  const plan = planOf(blueprintOf({ setup: 'make', os, env: { A: '1' } }));
  await expect(buildSpec(plan, output).dockerfile).toMatchFileSnapshot(join(golden, 'image.Containerfile'));
});

test('the same blueprint gives the same bytes, whatever the order of its packages and variables', () => {
  const packages = ['go', 'ripgrep', 'jq', 'rust', 'git', 'curl'];
  const expected = buildSpec(planOf(blueprintOf({ ...richSpec, packages, os: 'debian' })), output);
  fc.assert(
    fc.property(
      fc.shuffledSubarray(packages, { minLength: packages.length }),
      fc.shuffledSubarray(Object.entries(richSpec.env), { minLength: 2 }),
      (shuffled, env) => {
        const spec = { ...richSpec, packages: shuffled, env: Object.fromEntries(env), os: 'debian' };
        expect(canonicalJson(buildSpec(planOf(blueprintOf(spec)), output))).toBe(canonicalJson(expected));
      },
    ),
  );
});

test('two names for one package are one package', () => {
  const plan = (packages: string[]) => planDigest(planOf(blueprintOf({ packages, os: 'debian' })));
  expect(plan(['golang', 'go'])).toBe(plan(['go', 'golang']));
  expect(planOf(blueprintOf({ packages: ['golang', 'go'] })).packages.map(({ nativeName }) => nativeName)).toEqual([
    'golang-go',
  ]);
});

test('what does not change the image does not change the plan', () => {
  const digestOf = (spec: object) => planDigest(planOf(blueprintOf({ repo: 'https://git.example/a/b.git', ...spec })));
  const first = digestOf({});
  expect(digestOf({ context: { labels: { a: 'b' } } })).toBe(first);
  expect(digestOf({ startup: 'make serve' })).toBe(first);
  expect(digestOf({ env: { A: '1' } })).toBe(first);
  expect(digestOf({ repo: 'https://git.example/other.git' })).toBe(first);
  expect(digestOf({ packages: ['jq'] })).not.toBe(first);
});

test('with setup the repository, its commit and the variables are part of the plan', () => {
  const digestOf = (spec: object) => planDigest(planOf(blueprintOf({ ...richSpec, ...spec })));
  const other = { ...richSpec.repo, ref: 'f'.repeat(40) };
  expect(new Set([digestOf({}), digestOf({ repo: other }), digestOf({ env: {} })]).size).toBe(3);
});

test('a plan with something open is no plan', () => {
  const blueprint = blueprintOf({ repo: 'https://git.example/a/b.git', setup: 'make' });
  const draft = draftOf(blueprint);
  expect(draft.unresolved).toEqual(['repository.commit']);
  expect(() => finishPlan(blueprint, draft)).toThrow('repository.commit');
});

test('nothing of a spec leaves its place in the Containerfile', () => {
  const nasty = fc.constantFrom(
    '\n',
    '\r\n',
    '"',
    "'",
    '$',
    '${X}',
    '`',
    '\\',
    '\\\n',
    '<<EOF',
    'EOF',
    '\nRUN reboot\n',
    '# syntax=x',
    '[',
    ']',
    '\u2028',
    '\u001b',
    ' ',
    'é',
    '🙂',
  );
  const any = fc.oneof(
    fc.array(nasty, { minLength: 1, maxLength: 10 }).map((parts) => parts.join('')),
    fc.string({ unit: 'grapheme', minLength: 1 }),
  );
  const text = any.filter((value) => !value.includes('\0'));
  const path = text
    .map((value) => `/w/${value.replace(/[^\P{C}]|\.\.|\/|[\u2028\u2029]/gu, '_')}`)
    .filter((value) => !/\/\.?$/.test(value));
  const env = fc.dictionary(fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/), text, { maxKeys: 4 });
  fc.assert(
    fc.property(
      text.filter((run) => run.trim() !== ''),
      path,
      path,
      env,
      (run, directory, root, variables) => {
        const blueprint = blueprintOf({
          repo: richSpec.repo,
          os: 'debian',
          setup: [{ id: 'one', run, workingDirectory: directory }],
          env: variables,
          runtime: { workspaceRoot: root },
        });
        const plan = planOf(blueprint);
        const { text: rendered, files } = renderContainerfile(plan, { ...plan.labels, 'k"$\\': `${directory}\\` });
        const instructions = readContainerfile(rendered);
        expect(instructions.map(({ name }) => name).filter((name) => name !== 'ENV')).toEqual([
          'FROM',
          'ADD',
          'RUN',
          'RUN',
          'COPY',
          'RUN',
          'LABEL',
          'LABEL',
          'LABEL',
        ]);
        const step = instructions.filter(({ name }) => name === 'RUN').at(-1);
        expect(step?.words.slice(0, 2)).toEqual(['/bin/sh', '-ec']);
        expect(step?.words[2]).toContain(`\n(\n${run}\n)\n`);
        expect(instructions.find(({ name }) => name === 'COPY')?.words).toEqual([
          'repository/',
          `${plan.repository?.path}/`,
        ]);
        expect(instructions.find(({ name, words }) => name === 'LABEL' && words[0] === 'k"$\\')?.words[1]).toBe(
          `${directory}\\`,
        );
        const inline = instructions.filter(({ name }) => name === 'ENV').map(({ words }) => words);
        const rest = Object.entries(plan.env).filter(([name]) => !inline.some(([known]) => known === name));
        expect(Object.fromEntries([...inline.map(([name, value]) => [name, value]), ...rest])).toEqual(plan.env);
        expect(files.length).toBe(rest.length > 0 ? 1 : 0);
      },
    ),
    { numRuns: 300 },
  );
});

test('a script or a value that no line can hold is a file', () => {
  const run = `echo ${'"x"\n'.repeat(12_000)}`;
  const plan = planOf(blueprintOf({ setup: run, env: { LONG: 'y'.repeat(60_000), LINES: "a\nb'c" }, os: 'debian' }));
  const { text, files } = renderContainerfile(plan);
  expect(files.map(({ path }) => path)).toEqual(['env.sh', 'steps/001.sh']);
  expect(files[0]?.content).toContain("export LINES='a\nb'\\''c'\n");
  expect(files[1]?.content).toContain(run);
  const step = readContainerfile(text).findLast(({ name }) => name === 'RUN');
  expect(step?.flags).toHaveLength(2);
  expect(step?.words).toEqual(['/bin/sh', '-e', '/dev/.caisson/steps/001.sh']);
});

test('a base whose reference is none is refused, not written down', () => {
  const plan = planOf(blueprintOf({ os: 'alpine' }));
  const base = { kind: 'registry', reference: 'x\\\nRUN', digest } as unknown as typeof plan.base;
  expect(() => renderContainerfile({ ...plan, base })).toThrow('not valid');
});

test('the bill of materials says what is inside, and is the same each time', () => {
  const plan = planOf(blueprintOf({ ...richSpec, os: 'debian' }));
  const [jq, libjq] = [['jq', '1.6-2.1+deb12u2'] as const, ['libjq1', '1.6-2.1+deb12u2'] as const];
  const bill = billOfMaterials(plan, new Map([jq, libjq]));
  expect(billOfMaterials(plan, new Map([libjq, jq]))).toBe(bill);
  const { components } = JSON.parse(bill) as { components: { name: string; purl?: string }[] };
  expect(components.find(({ name }) => name === 'jq')?.purl).toBe('pkg:deb/debian/jq@1.6-2.1%2Bdeb12u2');
  // Nobody asked for it by name, and it is inside.
  expect(components.filter(({ name }) => name === 'libjq1')).toHaveLength(1);
  expect(components.find(({ name }) => name === '@openai/codex')?.purl).toBe('pkg:npm/%40openai/codex@0.166.0');
});

describe('executors', () => {
  const executors = osExecutors({ plan: async (blueprint) => planOf(blueprint) });
  const find = (family: string) => {
    const executor = executors.find(({ id }) => id === `os-${family}`);
    if (executor === undefined) throw new Error(`no executor for ${family}`);
    return executor;
  };

  test.each(distributions)('%s is supported by its own and by no other', (os) => {
    const blueprint = blueprintOf({ os });
    const able = executors.filter((executor) => executor.supports({ blueprint }).ok).map(({ id }) => id);
    expect(able).toEqual([`os-${os}`]);
  });

  test('auto is Debian', () => {
    expect(find('debian').supports({ blueprint: blueprintOf({}) })).toEqual({ ok: true });
  });

  test('without a builder the artifacts describe', async () => {
    const blueprint = blueprintOf({ ...richSpec, os: 'debian' });
    const artifacts = await find('debian').compile({ blueprint, platform: { os: 'linux', architecture: 'amd64' } });
    expect(buildArtifactsSchema.parse(artifacts).map(({ kind }) => kind)).toEqual(['manifest', 'metadata']);
  });

  test('with a builder its artifact comes first', async () => {
    const built = {
      kind: 'oci-image',
      digest,
      platform: { os: 'linux', architecture: 'amd64' },
      location: { kind: 'oci-layout', path: 'x' },
    };
    const [executor] = osExecutors({
      plan: async (blueprint) => planOf(blueprint),
      build: async () => ({ artifact: built as never, installed: new Map([['jq', '1.6']]) }),
    });
    const artifacts = await executor?.compile({
      blueprint: blueprintOf({ packages: ['jq'] }),
      platform: { os: 'linux', architecture: 'amd64' },
    });
    expect(buildArtifactsSchema.parse(artifacts)).toMatchObject([
      { kind: 'oci-image' },
      { kind: 'manifest' },
      { kind: 'metadata', packages: [{ id: 'jq', nativeName: 'jq', version: '1.6' }] },
    ]);
  });

  test.each([
    [{ os: 'host' }, 'unsupported-os', 'target.os.family'],
    [{ os: { family: 'debian', release: 'sarge' } }, 'unsupported-os', 'target.os.release'],
    [{ os: 'arch', packages: ['git@2.50.0'] }, 'unsupported-package', 'tooling.packages[0]'],
    [{ packages: ['jq', 'helix'] }, 'unsupported-package', 'tooling.packages[1]'],
    [{ packages: ['postgres'] }, 'unsupported-package', 'tooling.packages[0]'],
    [{ os: 'nix', harness: 'claude-code' }, 'unsupported-harness', 'harness.id'],
    [{ harness: { id: 'codex', version: 'latest' } }, 'unsupported-harness', 'harness.version'],
    [{ os: 'nix', ssh: true }, 'unsupported-access-mode', 'access.ssh'],
    [{ runtime: { workspaceRoot: '/opt/caisson/w' } }, 'unsupported-runtime-requirement', 'runtime.workspaceRoot'],
    [
      { os: { family: 'image', reference: 'r.example/x' }, packages: ['jq'] },
      'unsupported-package',
      'tooling.packages[0]',
    ],
    [
      {
        customization: { dotfilesManager: 'chezmoi' },
        inputs: [{ purpose: 'dotfiles', kind: 'git', url: 'https://git.example/d.git', ref: commit }],
      },
      'unsupported-package',
      'customization.dotfilesManager',
    ],
  ])('%j is refused as %s at %s', (spec, reason, path) => {
    const blueprint = blueprintOf(spec as Record<string, unknown>);
    const { family } = blueprint.target.os;
    const answer = find(family === 'auto' || family === 'host' ? 'debian' : family).supports({ blueprint });
    expect(answer).toMatchObject({ ok: false, failures: [{ reason, path, message: expect.any(String) }] });
  });

  test('everything that stands in the way is told at once', () => {
    const blueprint = blueprintOf({ os: 'nix', ssh: true, harness: 'opencode', packages: ['postgres', 'git@1'] });
    const answer = find('nix').supports({ blueprint });
    expect(answer.ok ? [] : answer.failures.map(({ reason }) => reason).sort()).toEqual([
      'unsupported-access-mode',
      'unsupported-harness',
      'unsupported-package',
      'unsupported-package',
    ]);
  });
});
