import { describe, expect, test } from 'vitest';
import { boundedCopy, reported, specBounds } from './bounds.ts';
import { Problems } from './problems.ts';

function look(input: unknown) {
  const problems = new Problems();
  const { copy } = boundedCopy(input, problems);
  return {
    copy,
    problems: problems.none ? [] : problems.toError().problems.map(({ path, code }) => `${path} ${code}`),
  };
}

function nested(depth: number): unknown {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

describe('what is not plain data is refused where it stands', () => {
  class Own {}
  const throwing = Object.defineProperty({}, 'a', {
    enumerable: true,
    get: () => {
      throw new Error('boom');
    },
  });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  test.each<[string, unknown]>([
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a bigint', 1n],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['an instance', new Own()],
    ['a boxed string', Object('x')],
    ['a getter that throws', throwing],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('boom');
          },
        },
      ),
    ],
    ['a revoked proxy', revoked.proxy],
    ['not a number', Number.NaN],
    ['a prototype in a literal', { __proto__: { a: 1 } }],
  ])('%s', (_, value) => {
    expect(look({ here: value })).toEqual({ copy: { here: reported }, problems: ['here wrong_type'] });
  });

  test('a hole in a list', () => {
    const sparse = ['a'];
    sparse[2] = 'c';
    expect(look(sparse).problems).toEqual(['$[1] wrong_type']);
  });

  test('the key __proto__, at any depth, and nothing is inherited from it', () => {
    const { copy, problems } = look(JSON.parse('{"a":[{"__proto__":{"x":1},"b":1}]}'));
    expect(problems).toEqual(['a[0].__proto__ forbidden_key']);
    expect(copy).toEqual({ a: [{ b: 1 }] });
  });
});

describe('every limit holds, and one less passes', () => {
  test('depth', () => {
    expect(look(nested(specBounds.depth)).problems).toEqual([]);
    expect(look(nested(specBounds.depth + 1)).problems).toEqual([`${Array(32).fill('a').join('.')} too_deep`]);
    expect(look(nested(100_000)).problems).toHaveLength(1);
  });

  test('the size of one text, in bytes', () => {
    expect(look('é'.repeat(specBounds.stringBytes / 2)).problems).toEqual([]);
    expect(look({ a: `é${'é'.repeat(specBounds.stringBytes / 2)}` }).problems).toEqual(['a too_long']);
    expect(look('x'.repeat(10_000_000)).problems).toEqual(['$ too_long']);
  });

  test('the size of all texts', () => {
    const text = 'x'.repeat(specBounds.stringBytes);
    expect(look(Array(16).fill(text)).problems).toEqual([]);
    expect(look(Array(160).fill(text)).problems).toEqual(['$[16] too_large']);
  });

  test('the length of a list, even of an empty one', () => {
    expect(look(Array(specBounds.arrayEntries).fill(1)).problems).toEqual([]);
    expect(look({ a: new Array(4_000_000_000) })).toEqual({ copy: { a: reported }, problems: ['a too_many'] });
  });

  test('the number of values', () => {
    const thousand = Array(999).fill(1);
    expect(look(Array(19).fill(thousand)).problems).toEqual([]);
    expect(look(Array(21).fill(thousand)).problems).toHaveLength(1);
    const wide = Object.fromEntries(Array.from({ length: 20_001 }, (_, index) => [`k${index}`, 1]));
    expect(look(wide).problems).toEqual(['$ too_large']);
  });

  test('the size of a key', () => {
    expect(look({ ['k'.repeat(256)]: 1 }).problems).toEqual([]);
    const [problem] = look({ ['k'.repeat(100_000)]: 1 }).problems;
    expect(problem).toMatch(/^\["k{64}…"\] too_long$/);
  });
});

test('an alias bomb ends at the limit of values, at once', () => {
  let bomb: unknown = ['lol'];
  for (let level = 0; level < 25; level += 1) bomb = Array(9).fill(bomb);
  const began = performance.now();
  const { copy, problems } = look({ bomb });
  expect(copy).toBe(reported);
  expect(problems.map((problem) => problem.split(' ')[1])).toEqual(['too_large']);
  // A full expansion would be 9^25 values; ten seconds are generous to the slowest machine.
  expect(performance.now() - began).toBeLessThan(10_000);
});

test('a cycle ends at the limit of depth', () => {
  const cycle: Record<string, unknown> = {};
  cycle.me = cycle;
  expect(look(cycle).problems.map((problem) => problem.split(' ')[1])).toEqual(['too_deep']);
});

test('the copy is read once: a value that changes afterwards changes nothing', () => {
  let reads = 0;
  const changing = {
    get a() {
      reads += 1;
      return reads;
    },
  };
  expect(look(changing)).toEqual({ copy: { a: 1 }, problems: [] });
  expect(reads).toBe(1);
});

test('an absent value is dropped and negative zero is zero', () => {
  const { copy } = look({ a: undefined, b: -0 });
  expect(Object.keys(copy as object)).toEqual(['b']);
  expect(Object.is((copy as { b: number }).b, 0)).toBe(true);
});
