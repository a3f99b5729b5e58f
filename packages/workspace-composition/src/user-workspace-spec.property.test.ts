import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { workspaceBlueprintSchema } from './blueprint.ts';
import { blueprintDigest } from './digest.ts';
import { userWorkspaceSpecShape } from './spec/user-shape.ts';
import { SpecError, specProblemCodes } from './spec-error.ts';
import { normalizeUserWorkspaceSpec, userWorkspaceSpecSchema } from './user-workspace-spec.ts';

/** One intent, free of spelling. Every field is set, so that every field has to survive each spelling. */
const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
const command = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .map((text) => `echo ${text.replaceAll('\0', '')}`);
const step = fc.record({
  run: command,
  shell: fc.constantFrom('sh', 'bash'),
  directory: fc.constantFrom('.', 'web', 'a/b'),
});
const intents = fc.record({
  url: fc
    .tuple(fc.constantFrom('github.com', 'gitlab.com', 'git.example.org'), word, word)
    .map((parts) => `https://${parts.join('/')}`),
  inputs: fc.array(fc.record({ purpose: fc.constantFrom('config', 'dotfiles', 'bootstrap'), path: word }), {
    maxLength: 4,
  }),
  harness: fc.constantFrom('claude-code', 'codex', 'opencode', 'none'),
  ssh: fc.boolean(),
  packages: fc.uniqueArray(fc.record({ id: word, version: fc.option(word) }), {
    selector: ({ id }) => id,
    maxLength: 5,
  }),
  setup: fc.array(step, { maxLength: 3 }),
  startup: command,
  env: fc
    .dictionary(
      fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,6}$/),
      fc.string({ maxLength: 5 }).map((text) => text.replaceAll('\0', '')),
    )
    .filter((env) => !Object.hasOwn(env, '__proto__')),
  os: fc.constantFrom('auto', 'debian', 'alpine', 'nix'),
  open: fc.boolean(),
});
type Intent = typeof intents extends fc.Arbitrary<infer Value> ? Value : never;

/** How to write each thing down: every coin chooses between two spellings of the same. */
const coinSets = fc.infiniteStream(fc.boolean());

function spell(intent: Intent, coins: Iterator<boolean>): Record<string, unknown> {
  const short = () => coins.next().value === true;
  const spec: Record<string, unknown> = {};
  const put = (field: string, section: string, key: string, value: unknown) => {
    if (short()) spec[field] = value;
    else spec[section] = { ...(spec[section] as object | undefined), [key]: value };
  };
  const provider = intent.url.includes('github') ? 'github' : intent.url.includes('gitlab') ? 'gitlab' : 'generic';
  const source = short()
    ? intent.url
    : short()
      ? { kind: 'git', url: intent.url }
      : { url: intent.url, provider, kind: 'git' };
  if (short()) put('source', 'sources', 'workspace', source);
  else spec.repo = source;
  put(
    'inputs',
    'sources',
    'inputs',
    intent.inputs.map(({ purpose, path }) => ({ kind: 'folder', path, purpose })),
  );
  spec.harness = short() ? intent.harness : { id: intent.harness };
  put('ssh', 'access', 'ssh', short() ? intent.ssh : { enabled: intent.ssh, listenPort: 2222 });
  const packages = intent.packages.map(({ id, version }) => {
    if (version === null) return short() ? id : { id };
    return short() ? `${id}@${version}` : { version, id };
  });
  put(
    'packages',
    'tooling',
    'packages',
    packages.length > 0 && short() ? [...packages, intent.packages[0]?.id] : packages,
  );
  const setup = intent.setup.map(({ run, shell, directory }, index) => {
    if (shell === 'sh' && directory === '.' && short()) return run;
    const workingDirectory = short() ? directory : `/workspace/repo/${directory}/`;
    return short() ? { run, shell, workingDirectory } : { workingDirectory, shell, run, id: `setup-${index + 1}` };
  });
  put('setup', 'lifecycle', 'setup', setup.length === 1 && short() ? setup[0] : setup);
  const foreground = short() ? intent.startup : { kind: 'command', run: intent.startup };
  put(
    'startup',
    'lifecycle',
    'startup',
    short() ? intent.startup : short() ? { foreground } : { steps: [], foreground },
  );
  put('env', 'runtime', 'env', intent.env);
  put('os', 'target', 'os', short() ? intent.os : { mode: 'prefer', family: intent.os });
  const network = short() ? { outbound: intent.open } : { mode: intent.open ? 'open' : 'off' };
  spec.runtime = { ...(spec.runtime as object | undefined), network };
  if (short()) spec.version = '1';
  return spec;
}

const specs = fc.tuple(intents, coinSets).map(([intent, coins]) => spell(intent, coins));

/** The same value with the keys of every object in another order. */
function shuffled(value: unknown, order: (length: number) => number): unknown {
  if (Array.isArray(value)) return value.map((entry) => shuffled(entry, order));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const mixed: [string, unknown][] = [];
  while (entries.length > 0) {
    for (const [key, entry] of entries.splice(order(entries.length), 1)) mixed.push([key, shuffled(entry, order)]);
  }
  return Object.fromEntries(mixed);
}

describe('for every intent', () => {
  test('each spelling gives the same bytes, and nothing of the intent is lost', () => {
    fc.assert(
      fc.property(intents, coinSets, coinSets, (intent, one, other) => {
        const blueprint = normalizeUserWorkspaceSpec(spell(intent, one));
        expect(JSON.stringify(normalizeUserWorkspaceSpec(spell(intent, other)))).toBe(JSON.stringify(blueprint));
        expect(blueprint.sources.workspace).toMatchObject({ kind: 'git', url: intent.url });
        expect(blueprint.sources.inputs).toMatchObject(intent.inputs);
        expect(blueprint.tooling.packages.map(({ id, version = null }) => ({ id, version }))).toEqual(intent.packages);
        expect(blueprint.lifecycle.setup.map(({ run, shell }) => [run, shell])).toEqual(
          intent.setup.map(({ run, shell }) => [run, shell]),
        );
        expect(blueprint.lifecycle.startup.foreground).toMatchObject({ kind: 'command', run: intent.startup });
        expect({ ...blueprint.runtime.env }).toEqual({ ...intent.env });
        expect(blueprint.runtime.network.mode).toBe(intent.open ? 'open' : 'off');
        expect([blueprint.harness.id, blueprint.access.ssh.enabled, blueprint.target.os.family]).toEqual([
          intent.harness,
          intent.ssh,
          intent.os,
        ]);
      }),
      { numRuns: 300 },
    );
  });

  test('the blueprint is valid, and entered as a spec it gives itself, byte for byte', () => {
    fc.assert(
      fc.property(specs, (spec) => {
        const blueprint = normalizeUserWorkspaceSpec(spec);
        const again = normalizeUserWorkspaceSpec(blueprint);
        expect(again).toEqual(blueprint);
        expect(JSON.stringify(again)).toBe(JSON.stringify(blueprint));
        expect(workspaceBlueprintSchema.parse(blueprint)).toEqual(blueprint);
      }),
      { numRuns: 300 },
    );
  });

  test('the order of keys changes neither the JSON nor the digest', () => {
    fc.assert(
      fc.property(specs, fc.infiniteStream(fc.nat()), (spec, numbers) => {
        const order = (length: number) => Number(numbers.next().value) % length;
        const blueprint = normalizeUserWorkspaceSpec(spec);
        expect(JSON.stringify(normalizeUserWorkspaceSpec(shuffled(spec, order)))).toBe(JSON.stringify(blueprint));
        expect(blueprintDigest(shuffled(blueprint, order) as typeof blueprint)).toBe(blueprintDigest(blueprint));
      }),
      { numRuns: 200 },
    );
  });
});

const nasty: fc.Arbitrary<unknown> = fc.oneof(
  fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withUnicodeString: true,
  }),
  fc.constantFrom<unknown>(
    '',
    '-x',
    '../..',
    'a\nb',
    '\0',
    '\ud800',
    'none',
    'git',
    'harness',
    1,
    -0,
    1e99,
    {},
    [],
    [[]],
    null,
  ),
  fc.constant(JSON.parse('{"__proto__":1}')),
);

/** Values that are right in some place, so that a change often lands just inside or just outside the rules. */
const plausible = fc.constantFrom<unknown>(
  ...[
    'main',
    '1.0',
    '/srv',
    '/srv/',
    'web',
    'npm',
    'preset:npm',
    'GitHub.com',
    '10.0.0.0/8',
    'bash',
    'require',
    'kata',
  ],
  ...[
    'codex',
    'off',
    'persistent',
    'config-1',
    'setup-1',
    'debian',
    'image',
    'https://gitlab.com/a/b',
    true,
    false,
    8080,
    0.5,
  ],
);
const optionalKeys = [
  'ref',
  'authRef',
  'submodules',
  'profile',
  'version',
  'mountPath',
  'release',
  'reference',
  'issue',
  'cpus',
  'pids',
  'labels',
];

/** A valid spec or blueprint with one value, somewhere in it, replaced, added or removed. */
const mutations = (valid: fc.Arbitrary<object>) =>
  fc
    .tuple(
      valid,
      fc.infiniteStream(fc.nat()),
      fc.constantFrom('replace', 'add', 'remove'),
      fc.oneof(nasty, plausible),
      fc.oneof(word, fc.constantFrom(...optionalKeys)),
    )
    .map(([base, numbers, change, value, key]) => {
      const root: unknown = structuredClone(base);
      const pick = (length: number) => Number(numbers.next().value) % length;
      let place = root as Record<string, unknown>;
      for (;;) {
        const keys = Object.keys(place);
        if (change === 'add' && pick(3) === 0) break;
        const next = place[keys[pick(Math.max(keys.length, 1))] ?? ''];
        if (typeof next !== 'object' || next === null || Object.keys(next).length === 0 || pick(6) === 0) break;
        place = next as Record<string, unknown>;
      }
      const keys = Object.keys(place);
      const chosen = change === 'add' ? key : (keys[pick(Math.max(keys.length, 1))] ?? key);
      if (change === 'remove') delete place[chosen];
      else place[chosen] = value;
      return root;
    });

const blueprints = specs.map((spec) => normalizeUserWorkspaceSpec(spec));
const inputs = fc.oneof(
  { arbitrary: nasty, weight: 1 },
  { arbitrary: mutations(specs), weight: 2 },
  { arbitrary: mutations(blueprints), weight: 1 },
);

describe('for every input', () => {
  test('the outcome is a blueprint or a SpecError whose problems are complete, and the schema agrees', () => {
    const outcomes = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(inputs, (input) => {
        let refused: SpecError | undefined;
        try {
          const blueprint = normalizeUserWorkspaceSpec(input);
          expect(workspaceBlueprintSchema.safeParse(blueprint).success).toBe(true);
          expect(JSON.stringify(normalizeUserWorkspaceSpec(blueprint))).toBe(JSON.stringify(blueprint));
        } catch (error) {
          if (!(error instanceof SpecError)) throw error;
          refused = error;
        }
        outcomes[refused === undefined ? 'accepted' : 'refused'] += 1;
        if (refused !== undefined) {
          expect(refused.problems.length).toBeGreaterThan(0);
          expect(refused.problems.length).toBeLessThanOrEqual(101);
          for (const { path, code, message } of refused.problems) {
            expect(path).not.toBe('');
            expect(message).not.toBe('');
            expect(specProblemCodes).toContain(code);
          }
        }
        expect(userWorkspaceSpecSchema.safeParse(input).success).toBe(refused === undefined);
      }),
      { numRuns: 3_000 },
    );
    // Both sides have to be met often, or the property says little.
    expect(outcomes.accepted).toBeGreaterThan(100);
    expect(outcomes.refused).toBeGreaterThan(100);
  });

  test('what the blueprint schema accepts is already normal', () => {
    let accepted = 0;
    fc.assert(
      fc.property(mutations(blueprints), (input) => {
        const result = workspaceBlueprintSchema.safeParse(input);
        if (!result.success) return;
        accepted += 1;
        expect(normalizeUserWorkspaceSpec(result.data)).toEqual(result.data);
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });
});

test('the schema can be written down as JSON Schema', () => {
  const schema = z.toJSONSchema(userWorkspaceSpecSchema, { io: 'input' });
  expect(schema.additionalProperties).toBe(false);
  expect(Object.keys(schema.properties ?? {}).sort()).toEqual(Object.keys(userWorkspaceSpecShape.shape).sort());
});
