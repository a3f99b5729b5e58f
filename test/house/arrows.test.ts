import { join } from 'node:path';
import { expect, test } from 'vitest';
import { importsOf, judge, sourceFiles, violations } from './arrows.ts';

const root = join(import.meta.dirname, '..', '..');

test('no import of the sources breaks the arrows of the design', () => {
  expect(sourceFiles(join(root, 'packages')).length).toBeGreaterThan(20);
  expect(violations(root)).toEqual([]);
});

test('every way of importing is seen', () => {
  const text = `
    import a from './a.ts';
    import type { B } from "./b.ts";
    import {
      c,
    } from './c.ts';
    import './d.ts';
    export * from './e.ts';
    export { f } from './f.ts';
    const g = await import('./g.ts');
    // import h from './h.ts';
    /* import i from './i.ts'; */
    const text = "from './j.ts'";
  `;
  expect(importsOf(text)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `./${name}.ts`));
});

test.each([
  ['contract', 'packages/contract/src/a.ts', '@caisson/server', undefined],
  ['workspace-composition', 'packages/workspace-composition/src/a.ts', '@caisson/contract', undefined],
  ['sdk', 'packages/sdk/src/a.ts', '@caisson/server', undefined],
  ['sdk', 'packages/sdk/src/a.ts', 'node:fs', undefined],
  ['contract', 'packages/contract/src/a.ts', 'fs', undefined],
  ['contract', 'packages/contract/src/a.ts', 'yaml', undefined],
  ['newcomer', 'packages/newcomer/src/a.ts', 'zod', undefined],
  ['contract', 'packages/contract/src/a.ts', '../../server/src/x.ts', '../../server/src/x.ts'],
  ['server', 'packages/server/src/drivers/oci/oci.ts', '../../sandbox/x.ts', 'sandbox/x.ts'],
  ['server', 'packages/server/src/drivers/oci/oci.ts', '../docker/x.ts', 'drivers/docker/x.ts'],
  ['server', 'packages/server/src/drivers/oci/oci.ts', '../../faults/x.ts', 'faults/x.ts'],
  ['server', 'packages/server/src/storage/btrfs/b.ts', '../overlay/x.ts', 'storage/overlay/x.ts'],
  ['server', 'packages/server/src/images/builders/buildkit/b.ts', '../native/x.ts', 'images/builders/native/x.ts'],
  ['server', 'packages/server/src/sandbox/x.ts', '../api/x.ts', 'api/x.ts'],
  ['server', 'packages/server/src/api/x.ts', '../drivers/driver.ts', 'drivers/driver.ts'],
  ['server', 'packages/server/src/novelty/x.ts', '../store/x.ts', 'store/x.ts'],
])('an import from %s (%s) of %s is refused', (name, file, target, inside) => {
  expect(judge(name, file, target, inside)).toEqual(expect.any(String));
});

test.each([
  ['server', 'packages/server/src/drivers/oci/oci.ts', '../driver.ts', 'drivers/driver.ts'],
  ['server', 'packages/server/src/drivers/oci/oci.ts', './probe.ts', 'drivers/oci/probe.ts'],
  ['server', 'packages/server/src/drivers/fake/f.ts', '../../faults/x.ts', 'faults/x.ts'],
  ['server', 'packages/server/src/main.ts', './drivers/oci/oci.ts', 'drivers/oci/oci.ts'],
  ['server', 'packages/server/src/api/x.ts', '../sandbox/x.ts', 'sandbox/x.ts'],
  ['cli', 'packages/cli/src/a.ts', '@caisson/sdk', undefined],
  ['workspace-composition', 'packages/workspace-composition/src/digest.ts', 'node:crypto', undefined],
])('an import from %s (%s) of %s is allowed', (name, file, target, inside) => {
  expect(judge(name, file, target, inside)).toBeUndefined();
});
