import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareDebianVersions } from './debian-version.ts';

test.each([
  ['1:2.39.5-0+deb12u2', '1:2.39.5-0+deb12u3'],
  ['1.0~rc1-1', '1.0-1'],
  ['1.0', '1.0+dfsg'],
  ['1.9', '1.10'],
  ['9.9', '1:0.1'],
  ['1.0-1', '1.0-1.1'],
  ['1.0a', '1.0+'],
])('%s comes before %s', (older, newer) => {
  expect(compareDebianVersions(older, newer)).toBeLessThan(0);
  expect(compareDebianVersions(newer, older)).toBeGreaterThan(0);
  expect(compareDebianVersions(older, older)).toBe(0);
});

const dpkg = (() => {
  try {
    return execFileSync('dpkg', ['--version']).length > 0;
  } catch {
    return false;
  }
})();

if (!dpkg) test.skip('the order is that of dpkg: this machine has no dpkg', () => {});

test.runIf(dpkg)('the order is that of dpkg', () => {
  const part = fc
    .array(fc.constantFrom('0', '1', '09', '10', '.', '+', '~', 'a', 'b', 'Z'), { maxLength: 5 })
    .map((parts) => parts.join(''));
  const version = fc
    .tuple(fc.constantFrom('', '0:', '2:'), part, fc.constantFrom('', '-1', '-1~x', '-0+a', '-10'))
    .map(([epoch, upstream, revision]) => `${epoch}1${upstream}${revision}`);
  fc.assert(
    fc.property(fc.array(fc.tuple(version, version), { minLength: 40, maxLength: 40 }), (pairs) => {
      const script = pairs
        .map(([a, b]) => `for op in lt eq gt; do dpkg --compare-versions '${a}' $op '${b}' && echo $op; done`)
        .join('\n');
      const said = execFileSync('sh', ['-c', `${script}\ntrue`], { encoding: 'utf8' })
        .trim()
        .split('\n');
      const ours = pairs.map(([a, b]) => ['lt', 'eq', 'gt'][Math.sign(compareDebianVersions(a, b)) + 1]);
      expect(ours).toEqual(said);
    }),
    { numRuns: 5 },
  );
});
