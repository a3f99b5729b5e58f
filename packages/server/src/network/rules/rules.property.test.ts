import { type NetworkRules, presetNames } from '@caisson/contract';
import { normalizeUserWorkspaceSpec, parseWorkspaceBlueprint } from '@caisson/workspace-composition';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { spellingsOf } from '../../../testing/address-spellings.ts';
import { ClosedAddresses } from './closed-addresses.ts';
import { readTarget, type Target } from './host.ts';
import { compileRules } from './rules.ts';

/** Few words, so that entries and targets meet. */
const label = fc.constantFrom('a', 'b', 'com', 'org', 'x-1');
const name = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join('.'));
const octet = fc.constantFrom(0, 1, 127, 128, 255);
const quad = fc.tuple(fc.constantFrom(10, 127, 192, 203), octet, octet, octet);
const address = fc.oneof(
  quad.map((parts) => parts.join('.')),
  fc.tuple(octet, octet).map(([a, b]) => `2001:db8::${a.toString(16)}:${b.toString(16)}`),
  quad.map((parts) => `64:ff9b::${parts.join('.')}`),
);
const port = fc.constantFrom(22, 80, 443);
const withPort = (host: string, at: number | undefined) => {
  if (at === undefined) return host;
  return host.includes(':') ? `[${host}]:${at}` : `${host}:${at}`;
};
const maybePort = fc.option(port, { nil: undefined });
const entry = fc.oneof(
  fc.tuple(name, maybePort).map(([host, at]) => withPort(host, at)),
  fc.tuple(name, maybePort).map(([host, at]) => withPort(`*.${host}`, at)),
  fc.tuple(address, maybePort).map(([host, at]) => withPort(host, at)),
  fc.tuple(address, fc.integer({ min: 0, max: 32 })).map(([base, prefix]) => `${base}/${prefix}`),
  fc.constantFrom(...presetNames).map((preset) => `preset:${preset}`),
);
const rules: fc.Arbitrary<NetworkRules> = fc.record({
  mode: fc.constantFrom('allowlist', 'allowlist', 'open', 'off'),
  allow: fc.array(entry, { maxLength: 8 }),
  deny: fc.array(entry, { maxLength: 4 }),
  limits: fc.constant({}),
  secrets: fc.constant([]),
});
const target = fc.tuple(fc.oneof(name, address), port).map(([host, at]): Target => {
  const read = readTarget(withPort(host, at));
  if (read === undefined) throw new Error(`${host} is no host`);
  return read;
});
const closed = new ClosedAddresses(['10.0.0.0/8:443'], () => ['203.0.113.1']);
const runs = { numRuns: 2_000 };

/** Both decisions, and for a name each address that it might lead to. */
function decide(with_: NetworkRules, at: Target, to: string) {
  const compiled = compileRules(with_, closed);
  const dialled = at.host.kind === 'address' ? at.host.address : to;
  return { before: compiled.decideTarget(at), after: compiled.decideAddress(at, dialled) };
}

test('one more entry of deny never allows more', () => {
  fc.assert(
    fc.property(rules, entry, target, address, (some, more, at, to) => {
      const less = decide({ ...some, deny: [...some.deny, more] }, at, to);
      const was = decide(some, at, to);
      if (less.before.allowed) expect(was.before.allowed).toBe(true);
      if (less.after.allowed) expect(was.after.allowed).toBe(true);
    }),
    runs,
  );
});

test('one more entry of allow never refuses more', () => {
  fc.assert(
    fc.property(rules, entry, target, address, (some, more, at, to) => {
      const was = decide(some, at, to);
      const wider = decide({ ...some, allow: [...some.allow, more] }, at, to);
      if (was.before.allowed) expect(wider.before.allowed).toBe(true);
      if (was.after.allowed) expect(wider.after.allowed).toBe(true);
    }),
    runs,
  );
});

test('the decision on the address allows nothing that the decision on the target refuses', () => {
  fc.assert(
    fc.property(rules, target, address, (some, at, to) => {
      const { before, after } = decide(some, at, to);
      if (!before.allowed) expect(after).toEqual(before);
    }),
    runs,
  );
});

test('nothing that is listed opens a closed address', () => {
  fc.assert(
    fc.property(rules, target, address, (some, at, to) => {
      const dialled = at.host.kind === 'address' ? at.host.address : to;
      if (closed.refuses(dialled, at.port)) expect(decide(some, at, to).after.allowed).toBe(false);
    }),
    runs,
  );
});

test('a suggestion is an entry of a spec, and with it the same is allowed', () => {
  let suggested = 0;
  fc.assert(
    fc.property(rules, target, (some, at) => {
      const { before } = decide(some, at, '198.51.100.1');
      if (before.allowed || before.suggestion === undefined) return;
      suggested += 1;
      const { suggestion } = before;
      const spec = { source: { kind: 'none' }, runtime: { network: { allow: [suggestion] } } };
      const { network } = parseWorkspaceBlueprint(normalizeUserWorkspaceSpec(spec)).runtime;
      expect(network.allow).toEqual([suggestion]);
      const allowed = decide({ ...some, allow: [...some.allow, suggestion] }, at, '198.51.100.1');
      expect(allowed.before).toEqual({ allowed: true, rule: suggestion });
    }),
    runs,
  );
  expect(suggested).toBeGreaterThan(200);
});

test('neither case, a last dot nor the spelling of an address changes a decision', () => {
  fc.assert(
    fc.property(rules, quad, name, port, fc.boolean(), (some, parts, host, at, dot) => {
      const compiled = compileRules(some, closed);
      const decideText = (text: string) => {
        const read = readTarget(text);
        return read && compiled.decideTarget(read);
      };
      const upper = `${host.toUpperCase()}${dot ? '.' : ''}`;
      expect(decideText(`${upper}:${at}`)).toEqual(decideText(`${host}:${at}`));
      const same = spellingsOf(parts).slice(0, 16);
      for (const text of same) expect(decideText(`${text}:${at}`)).toEqual(decideText(`${parts.join('.')}:${at}`));
    }),
    { numRuns: 300 },
  );
});
