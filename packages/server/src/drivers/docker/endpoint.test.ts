import { CaissonError } from '@caisson/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endpointText, parseEndpoint, remoteHost } from './endpoint.ts';

test('a socket, a machine and a machine behind ssh are known by their addresses', () => {
  expect(parseEndpoint('unix:///run/docker.sock')).toEqual({ kind: 'unix', path: '/run/docker.sock' });
  expect(parseEndpoint('tcp://10.0.0.7')).toMatchObject({ kind: 'tcp', host: '10.0.0.7', port: 2375 });
  expect(parseEndpoint('tcp://[::1]:99')).toMatchObject({ host: '::1', port: 99 });
  expect(parseEndpoint('ssh://ada@build.example:2222')).toEqual({
    kind: 'ssh',
    destination: 'ada@build.example',
    port: 2222,
  });
});

test('certificates make it TLS, and TLS without them is refused', () => {
  const secure = { kind: 'tcp', host: 'engine.example', port: 2376, tls: { folder: '/certificates' } };
  expect(parseEndpoint('tcp://engine.example', { certFolder: '/certificates' })).toEqual(secure);
  expect(() => parseEndpoint('https://engine.example')).toThrow(/certificates/);
});

test.each([
  'ssh://-oProxyCommand=evil',
  'ssh://-l@host',
  'ssh://ada%20-oX@host',
  'ssh://ada:secret@host',
  'tcp://host/path',
  'unix://relative',
  'ftp://host',
  'docker.sock',
  '',
])('%s is no address of an engine', (text) => {
  expect(() => parseEndpoint(text)).toThrow(expect.objectContaining({ code: 'request_invalid' }));
});

test.each([
  ['unix:///run/docker.sock', undefined],
  ['tcp://127.0.0.1:2375', undefined],
  ['tcp://[::1]', undefined],
  ['ssh://ada@localhost', undefined],
  ['ssh://ada@Build-1.example:22', 'build-1.example'],
  ['tcp://192.0.2.7', '192.0.2.7'],
])('the engine at %s is on %s, where that is another host', (text, host) => {
  expect(remoteHost(parseEndpoint(text))).toBe(host);
});

test('whatever is written is an address or one clear error, and no destination looks like an option', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((rest) => `ssh://${rest}`),
        fc.webUrl(),
      ),
      (text) => {
        try {
          const endpoint = parseEndpoint(text);
          expect(parseEndpoint(endpointText(endpoint))).toEqual(endpoint);
          if (endpoint.kind === 'ssh') expect(endpoint.destination).not.toMatch(/^-|\s/);
        } catch (error) {
          expect(error).toBeInstanceOf(CaissonError);
        }
      },
    ),
  );
});
