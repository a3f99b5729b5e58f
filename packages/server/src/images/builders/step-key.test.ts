import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BuildStep } from '../plan/build-steps.ts';
import { planKey, type StepInputs, stepKey } from './step-key.ts';

const run: BuildStep = {
  ...{ kind: 'run', id: 'a', title: 'a', shell: 'sh', script: 'make', user: 'root', withEnv: false, command: 'make' },
};
const inputs: StepInputs = {
  step: run,
  parents: ['sha256:1', 'sha256:2'],
  platform: { os: 'linux', architecture: 'amd64' },
  baseEnv: { PATH: '/bin' },
  directory: '/',
  planEnv: { A: '1' },
  tenant: 'acme',
  rules: { mode: 'open', allow: [], deny: [], limits: {}, secrets: [] },
};
const off: StepInputs['rules'] = { ...inputs.rules, mode: 'off' };
const own: StepInputs = { ...inputs, step: { ...run, withEnv: true } };
const copied: StepInputs = {
  ...inputs,
  step: { kind: 'copy', id: 'c', title: 'c', from: 'repository', to: '/workspace', content: 'sha256:3' },
};

test('what a step is called changes nothing', () => {
  expect(stepKey({ ...inputs, step: { ...run, id: 'b', title: 'another' } })).toBe(stepKey(inputs));
  expect(stepKey({ ...copied, step: { ...copied.step, id: 'b', from: 'elsewhere' } as BuildStep })).toBe(
    stepKey(copied),
  );
});

test('everything that a step does, is done on, or sees is in its key', () => {
  const others: StepInputs[] = [
    inputs,
    own,
    copied,
    { ...inputs, step: { ...run, script: 'make ' } },
    { ...inputs, step: { ...run, shell: 'bash' } },
    { ...inputs, step: { ...run, user: 'user' } },
    { ...inputs, parents: ['sha256:2', 'sha256:1'] },
    { ...inputs, parents: ['sha256:1'] },
    { ...inputs, platform: { os: 'linux', architecture: 'arm64' } },
    { ...inputs, baseEnv: {} },
    { ...inputs, directory: '/srv' },
    { ...own, planEnv: { A: '2' } },
    { ...inputs, rules: off },
    { ...inputs, rules: { ...inputs.rules, mode: 'allowlist' } },
    { ...inputs, rules: { ...inputs.rules, mode: 'allowlist', allow: ['a.example'] } },
    { ...inputs, rules: { ...inputs.rules, deny: ['a.example'] } },
    { ...copied, step: { ...copied.step, content: 'sha256:4' } as BuildStep },
    { ...copied, step: { ...copied.step, to: '/srv' } as BuildStep },
  ];
  expect(new Set(others.map(stepKey)).size).toBe(others.length);
});

test('a step of the system is the same for everybody, and one of a tenant is that tenant’s', () => {
  expect(stepKey({ ...inputs, tenant: 'evil', planEnv: { A: '2' } })).toBe(stepKey(inputs));
  for (const one of [own, copied]) expect(stepKey({ ...one, tenant: 'evil' })).not.toBe(stepKey(one));
});

test('of the rules only what they let a step reach counts, and only for what runs', () => {
  const listed = (...allow: string[]) => stepKey({ ...inputs, rules: { ...inputs.rules, mode: 'allowlist', allow } });
  expect(listed('b.example', 'a.example', 'b.example')).toBe(listed('a.example', 'b.example'));
  expect(stepKey({ ...inputs, rules: { ...inputs.rules, limits: { connections: 1 } as never } })).toBe(stepKey(inputs));
  expect(stepKey({ ...copied, rules: off })).toBe(stepKey(copied));
  const plan = { steps: [] } as never;
  const open = { tenant: 'acme', rules: inputs.rules };
  expect(planKey(plan, [run], { ...open, rules: off })).not.toBe(planKey(plan, [run], open));
  expect(planKey(plan, [copied.step], { ...open, rules: off })).toBe(planKey(plan, [copied.step], open));
});

test('two scripts never share a key, wherever their parts are', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (a, b, c, d) => {
      fc.pre(a !== c || b !== d);
      const keyOf = (script: string, user: string) => stepKey({ ...inputs, step: { ...run, script, user } });
      expect(keyOf(a, b)).not.toBe(keyOf(c, d));
    }),
  );
});
