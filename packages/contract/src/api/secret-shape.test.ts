import fc from 'fast-check';
import { expect, test } from 'vitest';
import { secretDomainSchema, secretNameSchema, setSecretSchema } from './secret-shape.ts';

const good = { value: 'v', domains: ['example.com'] };

test('a secret is bound to port 443 and a header is the value alone unless it says otherwise', () => {
  expect(setSecretSchema.parse({ ...good, header: { name: 'X-Key' } })).toMatchObject({
    ports: [443],
    header: { name: 'X-Key', format: '{}' },
  });
});

test.each([
  ['Example.COM', 'example.com'],
  ['*.Example.com', '*.example.com'],
  ['localhost', 'localhost'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
])('%s is a domain, written %s', (given, canonical) => {
  expect(secretDomainSchema.parse(given)).toBe(canonical);
});

test.each([
  '',
  '*',
  '*.',
  '*.com',
  'a.*.com',
  'example.com.',
  '.example.com',
  'a..b',
  '10.0.0.1',
  '0x7f.1',
  '[::1]',
  '::1',
  'a b',
  'bücher.example',
  '\u212a.example',
  'a/b',
  'a:443',
  'a\n',
  `${'a'.repeat(64)}.com`,
])('%j is no domain that a secret goes to', (domain) => {
  expect(secretDomainSchema.safeParse(domain).success).toBe(false);
});

test.each(['Host', 'content-length', 'Transfer-Encoding', 'Connection', 'Proxy-Authorization', 'a b', 'a:', '', 'é'])(
  '%j is no header for a secret',
  (name) => {
    expect(setSecretSchema.safeParse({ ...good, header: { name } }).success).toBe(false);
  },
);

test.each(['', 'Bearer', '{} {}', ' {}', '{} ', '{}\r\nX: y', '{}\0'])('%j is no format of a header', (format) => {
  expect(setSecretSchema.safeParse({ ...good, header: { name: 'X-Key', format } }).success).toBe(false);
});

test.each(['a\rb', 'a\nb', 'a\0b', 'a\u001bb', 'a\u007f', '', ' a', 'a\t', '\ud800', 'é'.repeat(32_769)])(
  'a value that cannot go into a header is refused, with its path and without itself',
  (value) => {
    const parsed = setSecretSchema.safeParse({ ...good, value });
    expect(parsed.success).toBe(false);
    for (const issue of parsed.error?.issues ?? []) {
      expect(issue.path).toEqual(['value']);
      if (value.length > 2) expect(issue.message).not.toContain(value);
    }
  },
);

test('a value of 64 KiB is taken', () => {
  expect(setSecretSchema.safeParse({ ...good, value: 'é'.repeat(32_768) }).success).toBe(true);
});

test.each(['short', 'with a space in it', 'ümlaut-umlaut', `${'x'.repeat(257)}`])(
  '%j is no placeholder',
  (placeholder) => {
    expect(setSecretSchema.safeParse({ ...good, placeholder }).success).toBe(false);
  },
);

test('whatever is a name stands in a path as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 110 }), (text) => {
      if (!secretNameSchema.safeParse(text).success) return;
      expect(new URL(`http://h/v1/secrets/${text}`).pathname).toBe(`/v1/secrets/${text}`);
    }),
  );
  for (const name of ['..', '.', '-x', 'a/b', 'a?b', 'a#b', 'a%2e', 'a b', '']) {
    expect(secretNameSchema.safeParse(name).success).toBe(false);
  }
});
