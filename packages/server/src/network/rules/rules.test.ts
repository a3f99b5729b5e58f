import type { NetworkRules } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import { ClosedAddresses } from './closed-addresses.ts';
import { readTarget, type Target } from './host.ts';
import { compileRules, type Ruling } from './rules.ts';

const closed = new ClosedAddresses(['10.1.0.0/16:5432'], () => []);

function compile(rules: Partial<NetworkRules>) {
  return compileRules({ mode: 'open', allow: [], deny: [], limits: {}, secrets: [], ...rules }, closed);
}

function at(text: string): Target {
  const target = readTarget(text);
  if (target === undefined) throw new Error(`${text} is no target`);
  return target;
}

const allowlist = compile({
  mode: 'allowlist',
  allow: [
    'example.com',
    '*.example.org:443',
    'preset:npm',
    '192.0.2.0/24',
    '198.51.100.1:22',
    '[2001:db8::1]:443',
    '10.0.0.0/8',
    'localhost',
  ],
  deny: ['secret.example.org', '192.0.2.128/25', 'example.com:25'],
});

describe('an allowlist', () => {
  test.each<[string, Ruling]>([
    ['example.com:1', { allowed: true, rule: 'example.com' }],
    ['EXAMPLE.com.:1', { allowed: true, rule: 'example.com' }],
    ['example.com:25', { allowed: false, why: 'denied', rule: 'example.com:25' }],
    ['a.example.com:443', { allowed: false, why: 'not_allowed', suggestion: 'a.example.com:443' }],
    ['notexample.com:443', { allowed: false, why: 'not_allowed', suggestion: 'notexample.com:443' }],
    ['a.example.org:443', { allowed: true, rule: '*.example.org:443' }],
    ['a.b.c.example.org:443', { allowed: true, rule: '*.example.org:443' }],
    ['a.example.org:80', { allowed: false, why: 'not_allowed', suggestion: 'a.example.org:80' }],
    ['example.org:443', { allowed: false, why: 'not_allowed', suggestion: 'example.org:443' }],
    ['secret.example.org:443', { allowed: false, why: 'denied', rule: 'secret.example.org' }],
    ['registry.npmjs.org:443', { allowed: true, rule: 'preset:npm' }],
    ['192.0.2.1:80', { allowed: true, rule: '192.0.2.0/24' }],
    ['3221225985:80', { allowed: true, rule: '192.0.2.0/24' }],
    ['192.0.2.129:80', { allowed: false, why: 'denied', rule: '192.0.2.128/25' }],
    ['198.51.100.1:22', { allowed: true, rule: '198.51.100.1:22' }],
    ['198.51.100.1:23', { allowed: false, why: 'not_allowed', suggestion: '198.51.100.1:23' }],
    ['[2001:DB8:0::1]:443', { allowed: true, rule: '[2001:db8::1]:443' }],
    ['[2001:db8::2]:443', { allowed: false, why: 'not_allowed', suggestion: '[2001:db8::2]:443' }],
    ['10.2.0.1:80', { allowed: false, why: 'private_address' }],
    ['10.1.0.1:5432', { allowed: true, rule: '10.0.0.0/8' }],
    ['localhost:80', { allowed: false, why: 'private_address' }],
    ['a.localhost:80', { allowed: false, why: 'private_address' }],
    ['bad_.example.net:80', { allowed: false, why: 'not_allowed' }],
  ])('%s', (text, ruling) => expect(allowlist.decideTarget(at(text))).toEqual(ruling));

  test('an address is not allowed by the name that leads to it, nor a name by its address', () => {
    expect(allowlist.decideAddress(at('example.com:443'), '203.0.113.9')).toMatchObject({ allowed: true });
    expect(allowlist.decideAddress(at('203.0.113.9:443'), '203.0.113.9')).toMatchObject({ why: 'not_allowed' });
    expect(allowlist.decideAddress(at('other.example:443'), '192.0.2.1')).toMatchObject({ why: 'not_allowed' });
  });
});

describe('the address that would be dialled', () => {
  const open = compile({ deny: ['203.0.113.7:443', '203.0.113.128/25', '*.bad.example'] });

  test.each<[string, string, Ruling]>([
    ['example.com:80', '198.51.100.7', { allowed: true }],
    ['example.com:80', '203.0.113.7', { allowed: true }],
    ['example.com:443', '203.0.113.7', { allowed: false, why: 'denied', rule: '203.0.113.7:443' }],
    ['example.com:443', '::ffff:203.0.113.7', { allowed: false, why: 'denied', rule: '203.0.113.7:443' }],
    ['example.com:443', '64:ff9b::cb00:7107', { allowed: false, why: 'denied', rule: '203.0.113.7:443' }],
    ['example.com:80', '203.0.113.130', { allowed: false, why: 'denied', rule: '203.0.113.128/25' }],
    ['example.com:80', '127.0.0.1', { allowed: false, why: 'private_address' }],
    ['example.com:80', '::1', { allowed: false, why: 'private_address' }],
    ['example.com:80', '169.254.169.254', { allowed: false, why: 'private_address' }],
    ['example.com:80', 'not an address', { allowed: false, why: 'name_invalid' }],
    ['a.bad.example:80', '198.51.100.7', { allowed: false, why: 'denied', rule: '*.bad.example' }],
    ['bad.example:80', '198.51.100.7', { allowed: true }],
    ['198.51.100.7:80', '198.51.100.7', { allowed: true }],
    ['198.51.100.7:80', '198.51.100.8', { allowed: false, why: 'host_mismatch' }],
  ])('%s at %s', (text, address, ruling) => expect(open.decideAddress(at(text), address)).toEqual(ruling));
});

test('off is off, whatever is allowed', () => {
  const off = compile({ mode: 'off', allow: ['example.com', '198.51.100.7'] });
  const ruling = { allowed: false, why: 'network_off' };
  expect(off.decideTarget(at('example.com:80'))).toEqual(ruling);
  expect(off.decideAddress(at('198.51.100.7:80'), '198.51.100.7')).toEqual(ruling);
});

test.each<[string, Partial<NetworkRules>, boolean]>([
  ['an allowlist', { mode: 'allowlist' }, true],
  ['a denied name', { deny: ['example.com'] }, true],
  ['a denied wildcard', { deny: ['*.example.com:443'] }, true],
  ['a denied preset', { deny: ['preset:npm'] }, true],
  ['denied addresses alone', { deny: ['192.0.2.0/24', '[2001:db8::1]:443'] }, false],
  ['an open network', { allow: ['example.com'] }, false],
])('names matter with %s: %s', (_, rules, matters) => expect(compile(rules).namesMatter).toBe(matters));

describe('an entry that cannot be read', () => {
  test.each(['preset:nmp', 'http://example.com', '10.0.0.0/33', 'example.com:70000', '*.10.0.0.1', ''])(
    '%j denies everything, and allows nothing',
    (entry) => {
      const denied = { allowed: false, why: 'denied', rule: entry };
      expect(compile({ deny: [entry] }).decideTarget(at('example.com:80'))).toEqual(denied);
      expect(compile({ deny: [entry] }).decideAddress(at('example.com:80'), '198.51.100.7')).toEqual(denied);
      const allowed = compile({ mode: 'allowlist', allow: [entry, 'example.com'] });
      expect(allowed.decideTarget(at('example.com:80'))).toMatchObject({ allowed: true });
      expect(allowed.decideTarget(at('example.net:80'))).toMatchObject({ why: 'not_allowed' });
    },
  );
});
