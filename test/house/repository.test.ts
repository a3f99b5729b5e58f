import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourceFiles } from './arrows.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('the lockfile names no place that packages come from', () => {
  const lock = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { resolved?: string; hasInstallScript?: boolean }>;
  };
  const places = Object.values(lock.packages).flatMap((entry) => entry.resolved ?? []);
  expect(places.filter((place) => place.includes('://'))).toEqual([]);
});

test('every dependency is pinned to one version', () => {
  const manifests = [
    'package.json',
    ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}/package.json`),
  ];
  for (const manifest of manifests) {
    const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = JSON.parse(read(manifest));
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
      expect(version, `${manifest}: ${name}`).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
    }
  }
});

test('no source file is named after nothing', () => {
  const vague = /(^|\/)(utils?|helpers?|common|manager|misc|shared|lib)(\/|\.|$)/;
  expect(sourceFiles(join(root, 'packages')).filter((path) => vague.test(path.slice(root.length)))).toEqual([]);
});

test('no source file grows beyond what one concept needs', () => {
  const long = sourceFiles(join(root, 'packages')).filter(
    (path) => readFileSync(path, 'utf8').split('\n').length > 400,
  );
  expect(long).toEqual([]);
});
