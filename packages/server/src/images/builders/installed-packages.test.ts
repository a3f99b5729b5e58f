import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { findInLayers, installedPackages, parseStatus } from './installed-packages.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-status-'));
afterAll(() => rmSync(folder, { recursive: true }));

function layer(name: string, files: Readonly<Record<string, string>>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name, path)), { recursive: true });
    writeFileSync(join(folder, name, path), text);
  }
  return join(folder, name);
}

const jq = 'Package: jq\nStatus: install ok installed\nVersion: 1.6-2.1+deb12u1\nDescription: a\n longer\n';

test('what is installed has its version, and what is only configured has none', () => {
  const gone = 'Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n';
  expect(parseStatus(`${jq}\n${gone}\n\nVersion: 3\n`)).toEqual(new Map([['jq', '1.6-2.1+deb12u1']]));
});

test('what is no name or version of a package is none', () => {
  const odd = jq
    .replace('jq', '\ud800')
    .concat('\n', jq.replace('jq', 'x'.repeat(1000)), '\n', jq.replace('1.6', '1 6'));
  expect(parseStatus(odd)).toEqual(new Map());
});

test('more than any system has is nothing that is known', async () => {
  const status = Array.from({ length: 20_001 }, (_, n) => jq.replace('jq', `p${n}`)).join('\n');
  expect(await installedPackages([layer('many', { 'var/lib/dpkg/status': status })])).toBeUndefined();
});

test('any text is read without an error', () => {
  fc.assert(fc.property(fc.string(), (text) => parseStatus(text) instanceof Map));
});

test('the status of the highest layer that has one counts', async () => {
  const status = 'var/lib/dpkg/status';
  const layers = [
    layer('a', { [status]: jq.replace('1.6', '1.5') }),
    layer('b', { [status]: jq }),
    layer('c', { x: '' }),
  ];
  expect(await installedPackages(layers)).toEqual(new Map([['jq', '1.6-2.1+deb12u1']]));
});

test('a link in a layer leads nowhere', async () => {
  const outside = layer('outside', { 'dpkg/status': jq });
  const linked = layer('linked', { 'var/lib/x': '' });
  symlinkSync(join(outside, 'dpkg'), join(linked, 'var/lib/dpkg'));
  expect(await findInLayers([outside, linked], 'var/lib/dpkg/status')).toBeUndefined();
  expect(await installedPackages([linked])).toBeUndefined();
});
