import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

test('keys stand in code unit order and nothing is between the parts', () => {
  expect(canonicalJson({ b: [1, null, true], a: { é: 1, z: 2, Z: 3, 10: 4, 9: 5 } })).toBe(
    '{"a":{"10":4,"9":5,"Z":3,"z":2,"é":1},"b":[1,null,true]}',
  );
});

test('code units and not code points decide the order', () => {
  expect(canonicalJson({ '\uffff': 1, '😀': 2 })).toBe('{"😀":2,"\uffff":1}');
});

test('negative zero is zero', () => {
  expect(canonicalJson([-0, 0, 1e21, 0.1])).toBe('[0,0,1e+21,0.1]');
});

test('it reads back as the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      fc.pre(!JSON.stringify(value).includes('__proto__') && !/\\ud[89a-f]/.test(JSON.stringify(value)));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

const cycle: unknown[] = [];
cycle.push(cycle);

test.each<[string, unknown]>([
  ['undefined', undefined],
  ['an undefined property', { a: undefined }],
  ['NaN', Number.NaN],
  ['infinity', [Number.POSITIVE_INFINITY]],
  ['half a surrogate pair', '\ud800'],
  ['half a surrogate pair in a key', { '\udc00x': 1 }],
  ['a hole', new Array(1)],
  ['a date', new Date(0)],
  ['a map', new Map()],
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['a bigint', 1n],
  ['a cycle', cycle],
])('%s has no canonical JSON', (_, value) => {
  expect(() => canonicalJson(value)).toThrow(TypeError);
});
