import { expect, test } from 'vitest';
import { fetchSettings, sourcesFor } from './apt-sources.ts';
import { findRelease } from './releases.ts';

const mirror = 'http://mirror.example/debian/';
const security = 'http://mirror.example/debian-security/';
const machine = [
  { address: 'http://other.example/', suite: 'nodistro', signedBy: '' },
  { address: security, suite: 'bookworm-security', signedBy: '' },
  { address: mirror, suite: 'bookworm', signedBy: '/usr/share/keyrings/debian.gpg' },
];

test("packages come from the machine's own mirror, also those of another release", () => {
  expect(sourcesFor(findRelease('bookworm'), machine)).toEqual([
    `deb [signed-by=/usr/share/keyrings/debian.gpg] ${mirror} bookworm main`,
    `deb ${security} bookworm-security main`,
  ]);
  expect(sourcesFor(findRelease('13'), machine)[0]).toContain(`${mirror} trixie main`);
});

test('a machine that is no Debian gives no sources', () => {
  expect(sourcesFor(findRelease(), machine.slice(0, 1))).toEqual([]);
});

test('how to fetch is taken from the machine, and nothing else of its settings', () => {
  const dump = ['APT::Architecture "amd64";', 'Acquire::http::Proxy "http://proxy.example:3128";', 'Acquire::http "";'];
  expect(fetchSettings(dump.join('\n'))).toEqual(['Acquire::http::Proxy "http://proxy.example:3128";']);
});
