import { expect, test } from 'vitest';
import { ClosedAddresses } from '../rules/closed-addresses.ts';
import { readTarget, type Target } from '../rules/host.ts';
import { compileRules } from '../rules/rules.ts';
import { decideHandshake } from './handshake-rules.ts';

const none = { allow: [], deny: [], limits: {}, secrets: [] };
const closed = new ClosedAddresses([], () => []);
const open = compileRules({ mode: 'open', ...none }, closed);
const byName = compileRules({ mode: 'allowlist', ...none, allow: ['a.com', '192.0.2.1'] }, closed);
const denying = compileRules({ mode: 'open', ...none, deny: ['b.com'] }, closed);
const shows = (name: string | undefined, hidesName = false) => ({ name, hidesName });
const target = (text: string) => readTarget(text) as Target;

test.each([
  ['the name itself', byName, 'a.com:443', shows('A.com.'), undefined],
  ['another name', byName, 'a.com:443', shows('b.com'), 'sni_mismatch'],
  ['another name where none matters', open, 'a.com:443', shows('b.com'), 'sni_mismatch'],
  ['something that is no name', open, 'a.com:443', shows('a b'), 'sni_mismatch'],
  ['no name', byName, 'a.com:443', shows(undefined), 'sni_hidden'],
  ['no name where none matters', open, 'a.com:443', shows(undefined), undefined],
  ['a hidden name', byName, 'a.com:443', shows('a.com', true), 'sni_hidden'],
  ['a hidden name where none matters', open, 'a.com:443', shows('a.com', true), undefined],
  ['nothing readable', byName, 'a.com:443', undefined, 'sni_hidden'],
  ['nothing readable where no name matters', open, 'a.com:443', undefined, undefined],
  ['no name to an address', byName, '192.0.2.1:443', shows(undefined), undefined],
  ['an allowed name to an address', byName, '192.0.2.1:443', shows('a.com'), undefined],
  ['a name that is not allowed to an address', byName, '192.0.2.1:443', shows('c.com'), 'not_allowed'],
  ['a denied name to an address', denying, '192.0.2.1:443', shows('b.com'), 'denied'],
  ['another address', open, '192.0.2.1:443', shows('192.0.2.2'), 'sni_mismatch'],
] as const)('a handshake that shows %s', (_, rules, to, hello, why) => {
  const ruling = decideHandshake(hello, target(to), rules);
  expect('why' in ruling ? ruling.why : undefined).toBe(why);
});
