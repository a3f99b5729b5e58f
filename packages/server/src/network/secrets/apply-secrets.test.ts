import { setSecretSchema } from '@caisson/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RequestHead } from '../egress.ts';
import { applySecrets, maxHeadBytes, type OpenSecret } from './apply-secrets.ts';

const head = (fields: RequestHead['fields'], target = '/', method = 'GET'): RequestHead => ({ method, target, fields });
const bearer: OpenSecret = {
  name: 'token',
  value: 's3cret',
  header: { name: 'Authorization', format: 'Bearer {}' },
  placeholder: null,
};
const placed: OpenSecret = { name: 'key', value: 'r€al+/ value', header: null, placeholder: 'csn-secret-0123456789' };

test('a header is put in, whatever was there under its name', () => {
  const given = head([
    ['Host', 'a.example'],
    ['authorization', 'Bearer inside'],
    ['AUTHORIZATION', 'twice'],
    ['Accept', '*/*'],
  ]);
  expect(applySecrets(given, [bearer])).toEqual({
    head: head([
      ['Host', 'a.example'],
      ['Accept', '*/*'],
      ['Authorization', 'Bearer s3cret'],
    ]),
    used: ['token'],
  });
});

test('of two secrets for one header the first counts, and the other is not called used', () => {
  const second = { ...bearer, name: 'second', value: 'other' };
  expect(applySecrets(head([]), [bearer, second])).toEqual({
    head: head([['Authorization', 'Bearer s3cret']]),
    used: ['token'],
  });
});

test('a placeholder is replaced in fields, byte for byte, and in the target, percent-encoded', () => {
  const mark = placed.placeholder ?? '';
  const { head: sent, used } = applySecrets(head([['X-Key', `a ${mark} ${mark}`]], `/p/${mark}?k=${mark}&x=1`), [
    placed,
  ]);
  const bytes = Buffer.from('r€al+/ value').toString('latin1');
  expect(sent.fields).toEqual([['X-Key', `a ${bytes} ${bytes}`]]);
  expect(sent.target).toBe('/p/r%E2%82%ACal%2B%2F%20value?k=r%E2%82%ACal%2B%2F%20value&x=1');
  expect(used).toEqual(['key']);
});

test('a placeholder is found in the target when the client had to spell it otherwise', () => {
  const secret = { ...placed, placeholder: 'odd+place/holder=', value: 'v' };
  expect(applySecrets(head([], '/?k=odd%2Bplace%2Fholder%3D'), [secret]).head.target).toBe('/?k=v');
});

test('a placeholder is found in a name and password', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  const given = head([['Authorization', basic(`me:${placed.placeholder}`)]]);
  const { head: sent } = applySecrets(given, [placed]);
  expect(sent.fields).toEqual([['Authorization', basic('me:r€al+/ value')]]);
});

test('names, the method and the fields that frame a request stay as they are', () => {
  const mark = 'csn-secret-0123456789';
  const given = head(
    [
      [mark, 'x'],
      ['Host', mark],
      ['Transfer-Encoding', mark],
      ['Content-Length', mark],
    ],
    '/',
    mark,
  );
  expect(applySecrets(given, [placed])).toEqual({ head: given, used: [] });
});

test('what a value brings is not taken for another placeholder, and a longer placeholder goes first', () => {
  const a = { ...placed, name: 'a', placeholder: 'placeholder-a', value: 'placeholder-b' };
  const b = { ...placed, name: 'b', placeholder: 'placeholder-b', value: 'B' };
  const c = { ...placed, name: 'c', placeholder: 'placeholder-a-long', value: '$& $1 {}' };
  const { head: sent, used } = applySecrets(head([['X', 'placeholder-a placeholder-a-long']]), [a, b, c]);
  expect(sent.fields).toEqual([['X', 'placeholder-b $& $1 {}']]);
  expect(used).toEqual(['a', 'c']);
});

test('a request that asks for itself back gets no secret', () => {
  const given = head([['X', 'csn-secret-0123456789']], '/', 'TRACE');
  expect(applySecrets(given, [bearer, placed])).toEqual({ head: given, used: [] });
});

test('many placeholders for a large value are refused before they are written', () => {
  const secret = { ...placed, value: 'v'.repeat(65_536) };
  const given = head([['X', 'csn-secret-0123456789 '.repeat(700)]]);
  expect(() => applySecrets(given, [secret])).toThrow(expect.objectContaining({ code: 'headers_too_large' }));
});

const token = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}$/);
const visible = fc.stringMatching(/^[!-~]{12,30}$/);
const secrets = fc.array(
  fc.record({
    name: token,
    value: fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
    header: fc.option(fc.record({ name: token, format: fc.constantFrom('{}', 'Bearer {}', '{}; a=b') })),
    placeholder: fc.option(visible),
  }),
  { maxLength: 4 },
);

/** Only what the API takes is ever stored. */
const isTaken = ({ value, header, placeholder }: OpenSecret) =>
  setSecretSchema.safeParse({
    value,
    domains: ['a.example'],
    ...(header ? { header } : {}),
    ...(placeholder ? { placeholder } : {}),
  }).success;

test('no secret that the API takes makes another request of a request', () => {
  let tried = 0;
  fc.assert(
    fc.property(
      secrets,
      fc.array(fc.tuple(token, fc.stringMatching(/^[ -~]{0,40}$/)), { maxLength: 6 }),
      fc.nat(3),
      (all, around, at) => {
        const open = all.filter(isTaken);
        const mark = open[0]?.placeholder ?? 'nothing';
        const fields = around.map(([name, value], index): [string, string] => [
          name,
          index === at ? `${value}${mark}` : value,
        ]);
        const given = head(fields, `/p?${encodeURIComponent(mark)}`);
        const { head: sent, used } = applySecrets(given, open);
        tried += used.length;
        const own = new Set(open.flatMap(({ header }) => (header ? [header.name.toLowerCase()] : [])));
        const others = (one: RequestHead) =>
          one.fields.map(([name]) => name).filter((name) => !own.has(name.toLowerCase()));
        expect(others(sent)).toEqual(others(given));
        expect(sent.fields.filter(([name]) => own.has(name.toLowerCase())).length).toBeLessThanOrEqual(own.size);
        expect(sent.method).toBe('GET');
        expect(sent.target).toMatch(/^\/[!-~]*$/);
        for (const [, value] of sent.fields) expect(value).not.toMatch(/[\r\n\0]/);
        for (const name of used) expect(open.map((secret) => secret.name)).toContain(name);
      },
    ),
    { numRuns: 500 },
  );
  expect(tried).toBeGreaterThan(0);
});

test('what is not bound here leaves a request as it was', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(token, fc.string({ maxLength: 40 }))), fc.string(), (fields, target) => {
      const given = head(fields, target);
      expect(applySecrets(given, []).head).toBe(given);
    }),
  );
});

test('a head within its bound stays within it', () => {
  const { head: sent } = applySecrets(head([]), [{ ...bearer, value: 'v'.repeat(65_536) }]);
  expect(JSON.stringify(sent).length).toBeLessThan(maxHeadBytes);
});
