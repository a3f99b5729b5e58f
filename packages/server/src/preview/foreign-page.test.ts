import { expect, test } from 'vitest';
import { isForeignPage } from './foreign-page.ts';
import { PreviewAddresses, parsePreviewDomain } from './preview-address.ts';

const addresses = new PreviewAddresses([parsePreviewDomain('preview.example.com')]);
const own = 'sbx0000000000000000000a' as const;
const neighbour = 'sbx0000000000000000000b';
const named = { sandbox: own, port: 3000, prefix: '', domain: addresses.domains[0] };
const byPath = { ...named, prefix: `/preview/${own}/3000`, domain: undefined };
const host = `3000-${own}.preview.example.com`;
const page = (id: string, port = 3000) => `http://${port}-${id}.preview.example.com`;

test.each([
  ['no page at all', {}],
  ['its own page', { origin: page(own) }],
  ['a page of another of its ports', { origin: page(own, 5173) }],
  ['a script of its own page', { 'sec-fetch-site': 'same-origin' }],
  ['an address that was typed', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }],
  ['a link on a page of somebody else', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
  ['an image on another of its ports', { 'sec-fetch-site': 'same-site', referer: `${page(own, 5173)}/` }],
])('%s is not foreign', (_, headers) => {
  expect(isForeignPage({ host, ...headers }, named, addresses)).toBe(false);
});

test.each([
  ['a page of a neighbour', { origin: page(neighbour) }],
  ['a page of nobody', { origin: 'null' }],
  ['a page that cannot be read', { origin: 'x' }],
  ['a script on a page of a neighbour', { 'sec-fetch-site': 'same-site', referer: `${page(neighbour)}/` }],
  ['a script on a page that does not say', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }],
  ['a form of a neighbour', { origin: page(neighbour), 'sec-fetch-mode': 'navigate' }],
])('%s is foreign', (_, headers) => {
  expect(isForeignPage({ host, ...headers }, named, addresses)).toBe(true);
});

test('by path a page is nobody, also to itself', () => {
  expect(isForeignPage({ host: '127.0.0.1:1', origin: 'null' }, byPath, addresses)).toBe(false);
  expect(isForeignPage({ host: '127.0.0.1:1', origin: page(neighbour) }, byPath, addresses)).toBe(true);
});
