import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadProfiles, ProfileCatalog } from './catalog.ts';
import { shippedProfiles } from './shipped.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-profiles-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const base = { name: 'base', version: 1, sourceRequired: false, lease: { ttlSeconds: 60 } };

test('what ships is there, and the rest of the folder too', () => {
  writeFileSync(join(folder, 'mine.yaml'), 'name: mine\nversion: 3\nextends: { name: blank }\n');
  const names = loadProfiles(folder)
    .list()
    .map(({ name }) => name);
  for (const name of ['sandbox-canary', 'agent-dev', 'build', 'untrusted', 'burst-sandbox', 'ci', 'blank', 'mine'])
    expect(names).toContain(name);
});

describe('adding', () => {
  test('is for good: the next server has it', () => {
    loadProfiles(folder).add(base);
    expect(loadProfiles(folder).get('base@1')).toMatchObject({ lease: { ttlSeconds: 60 }, lineage: ['base@1'] });
    expect(readdirSync(folder)).toEqual(['base@1.json']);
  });

  test('the same again does nothing, other content of the same version is refused', () => {
    const catalog = loadProfiles(folder);
    catalog.add(base);
    expect(catalog.check({ ...base }).isNew).toBe(false);
    catalog.add({ lease: { ttlSeconds: 60 }, sourceRequired: false, version: 1, name: 'base' });
    expect(() => catalog.add({ ...base, lease: { ttlSeconds: 61 } })).toThrow(/a version never changes/);
    expect(() => catalog.add({ ...base, name: 'blank' })).toThrow(/a version never changes/);
    catalog.add({ ...base, version: 2, lease: { ttlSeconds: 61 } });
    expect(catalog.get('base').version).toBe(2);
    expect(catalog.get('base@1').lease).toEqual({ ttlSeconds: 60 });
  });

  test('what a version means does not change when its parent has a newer one', () => {
    const child = { name: 'child', version: 1, extends: { name: 'base' } };
    const catalog = loadProfiles(folder);
    catalog.add(base);
    catalog.add(child);
    catalog.add({ ...base, version: 2, lease: { ttlSeconds: 1 } });
    for (const one of [catalog, loadProfiles(folder)]) {
      expect(one.get('child')).toMatchObject({ lease: { ttlSeconds: 60 }, lineage: ['child@1', 'base@1'] });
      expect(one.check(child).isNew).toBe(false);
    }
  });

  test('a circle is refused with its path', () => {
    const catalog = loadProfiles(folder);
    catalog.add({ name: 'a', version: 1 });
    catalog.add({ name: 'b', version: 1, extends: { name: 'a' } });
    expect(() => catalog.add({ name: 'a', version: 2, extends: { name: 'b' } })).toThrow(/a@2 → b@1 → a@1/);
    expect(() => catalog.add({ name: 'c', version: 1, extends: { name: 'c' } })).toThrow(/c@1 → c@1/);
    expect(() => catalog.add({ name: 'c', version: 1, extends: { name: 'c', version: 1 } })).toThrow(/c@1 → c@1/);
    expect(() => catalog.add({ name: 'c', version: 1, extends: { name: 'nobody' } })).toThrow(/does not exist/);
  });

  test('what is refused leaves nothing behind', () => {
    const catalog = loadProfiles(folder);
    for (const bad of [null, 7, [], {}, { name: '../x', version: 1 }, { ...base, version: 0 }, { ...base, more: 1 }])
      expect(() => catalog.add(bad)).toThrow(expect.objectContaining({ code: 'profile_invalid' }));
    expect(readdirSync(folder)).toEqual([]);
  });

  test('what is nested or written without end is refused', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 20_000; level += 1) deep = { deep };
    const long = { text: 'x'.repeat(70_000) };
    const catalog = loadProfiles(folder);
    expect(() => catalog.check({ ...base, spec: { deep } })).toThrow(/nested deeper/);
    expect(() => catalog.check({ ...base, spec: { long } })).toThrow(/larger than/);
  });
});

test('two files of one version that differ stop the start', () => {
  writeFileSync(join(folder, 'a.yaml'), 'name: mine\nversion: 1\n');
  writeFileSync(join(folder, 'b.json'), '{"name":"mine","version":1}');
  expect(loadProfiles(folder).get('mine').version).toBe(1);
  writeFileSync(join(folder, 'c.json'), '{"name":"mine","version":1,"onePerOwner":true}');
  expect(() => loadProfiles(folder)).toThrow(/other content/);
});

test('no version of what ships is there twice', () => {
  expect(new ProfileCatalog(shippedProfiles).list()).toHaveLength(shippedProfiles.length);
});
