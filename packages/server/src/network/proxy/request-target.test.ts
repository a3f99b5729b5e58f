import { expect, test } from 'vitest';
import { readTarget, type Target } from '../rules/host.ts';
import { hostField, readRequestTarget } from './request-target.ts';

const target = (text: string) => readTarget(text) as Target;

test.each([
  ['http://example.com/a?b', 'example.com:80', '/a?b'],
  ['HTTP://EXAMPLE.com.', 'example.com:80', '/'],
  ['http://example.com:8080?x', 'example.com:8080', '/?x'],
  ['http://[::ffff:8.8.8.8]/', '8.8.8.8:80', '/'],
  ['http://0x08080808/', '8.8.8.8:80', '/'],
])('%s is for %s', (url, wanted, path) => {
  expect(readRequestTarget(url, [])).toEqual({ target: target(wanted), path });
});

test.each([
  ['http://example.com/', ['example.com'], undefined],
  ['http://example.com/', ['EXAMPLE.COM.:80'], undefined],
  ['http://example.com:81/', ['example.com:81'], undefined],
  ['http://example.com/', ['example.com:81'], 'host_mismatch'],
  ['http://example.com:81/', ['example.com'], 'host_mismatch'],
  ['http://example.com/', ['evil.com'], 'host_mismatch'],
  ['http://example.com/', [''], 'host_mismatch'],
  ['http://example.com/', ['example.com', 'example.com'], 'request_malformed'],
  ['http://example.com/#a', [], 'request_malformed'],
  ['http:example.com', [], 'request_malformed'],
  ['*', [], 'request_malformed'],
  ['ws://example.com/', [], 'protocol_unsupported'],
  ['http:///a', [], 'name_invalid'],
  ['http://a@b/', [], 'name_invalid'],
] as const)('%s with the Host fields %j is refused for %s', (url, hosts, why) => {
  const found = readRequestTarget(url, hosts);
  expect('why' in found ? found.why : undefined).toBe(why);
});

test('on a connection for one host a request names a path, and that host or none', () => {
  const fixed = target('example.com:8443');
  expect(readRequestTarget('/a', ['example.com:8443'], fixed)).toEqual({ target: fixed, path: '/a' });
  expect(readRequestTarget('/a', ['example.com'], fixed)).toEqual({ target: fixed, path: '/a' });
  expect(readRequestTarget('*', [], fixed)).toEqual({ target: fixed, path: '*' });
  expect(readRequestTarget('/a', ['example.com:443'], fixed)).toMatchObject({ why: 'host_mismatch' });
  expect(readRequestTarget('http://example.com:8443/', [], fixed)).toMatchObject({ why: 'request_malformed' });
});

test('the Host field leaves out the usual port and brackets IPv6', () => {
  expect(hostField(target('example.com:443'), 443)).toBe('example.com');
  expect(hostField(target('[2001:db8::1]:81'), 80)).toBe('[2001:db8::1]:81');
});
