import { expect, test } from 'vitest';
import { parseReference } from './reference.ts';

const digest = `sha256:${'a'.repeat(64)}`;

test('a reference names a registry, a repository, and a tag or a digest', () => {
  expect(parseReference('localhost:5000/x:tag')).toEqual({
    kind: 'registry',
    host: 'localhost:5000',
    repository: 'x',
    tag: 'tag',
  });
  expect(parseReference(`Registry.Example/a/b@${digest}`)).toMatchObject({
    host: 'registry.example',
    repository: 'a/b',
    digest,
  });
  expect(parseReference('[::1]:5000/x')).toMatchObject({ host: '[::1]:5000', tag: 'latest' });
  expect(parseReference('team/tool:1', 'registry.example')).toMatchObject({
    host: 'registry.example',
    repository: 'team/tool',
  });
});

test('a path is one of the machine, with an optional tag', () => {
  expect(parseReference('oci:/srv/images/x')).toEqual({ kind: 'oci', path: '/srv/images/x' });
  expect(parseReference('oci:/srv/a:b/x:v1')).toEqual({ kind: 'oci', path: '/srv/a:b/x', tag: 'v1' });
  expect(parseReference('docker-archive:/srv/x.tar')).toMatchObject({ kind: 'docker-archive', path: '/srv/x.tar' });
});

test.each([
  ['debian:bookworm', /names no registry/],
  ['oci:relative/path', /absolute/],
  ['oci:/path:', /tag is empty/],
  ['host.example/x@sha256:short', /hexadecimal/],
  [`host.example/x@${digest}@${digest}`, /hexadecimal/],
  ['host.example/UPPER', /repository/],
  ['host.example/a/../b', /repository/],
  ['host.example/x:bad tag', /not a tag/],
  ['user:secret@host.example/x', /hexadecimal/],
  ['ho%73t.example/x', /not a host/],
  ['host.example:5000?/x', /not a host/],
  ['', /names no registry/],
])('`%s` is refused', (text, why) => {
  expect(() => parseReference(text)).toThrowError(
    expect.objectContaining({ code: 'spec_invalid', message: expect.stringMatching(why) }),
  );
});
