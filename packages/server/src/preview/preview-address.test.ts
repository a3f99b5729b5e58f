import { expect, test } from 'vitest';
import { PreviewAddresses, parsePreviewDomain } from './preview-address.ts';

const id = 'sbx0000000000000000000a';
const addresses = new PreviewAddresses(['localhost', 'https://preview.example.com'].map(parsePreviewDomain));

test.each([
  [`3000-${id}.localhost`, 3000],
  [`3000-${id}.localhost:7300`, 3000],
  [`3000-${id.toUpperCase()}.LocalHost.`, 3000],
  [`65535-${id}.preview.example.com`, 65_535],
])('%s is the port %i', (host, port) => {
  expect(addresses.byHost(host)).toMatchObject({ sandbox: id, port, prefix: '' });
});

test.each([
  undefined,
  '',
  'localhost',
  `${id}.localhost`,
  `0-${id}.localhost`,
  `03000-${id}.localhost`,
  `65536-${id}.localhost`,
  `3000-${id}x.localhost`,
  `3000-${id}.evil.localhost`,
  `3000-${id}.localhost.evil.com`,
  `x.3000-${id}.localhost`,
  `3000-${id}.localhost@evil.com`,
])('the host %s is no preview', (host) => {
  expect(addresses.byHost(host)).toBeUndefined();
});

test.each([
  [`/preview/${id}/3000/`, 3000],
  [`/preview/${id}/3000/a?b`, 3000],
  [`/preview/${id}/3000`, 3000],
  [`/preview/${id}/3000?a`, 3000],
])('%s is a port by its path', (url, port) => {
  expect(addresses.byPath(url)).toMatchObject({ sandbox: id, port, prefix: `/preview/${id}/3000` });
});

test.each([
  '/',
  '/preview/',
  `/preview/${id}`,
  `/preview/${id}/`,
  `/preview/${id}/03000/`,
  `/preview/${id}/99999/`,
  `/preview/${id}/3000x`,
  `/Preview/${id}/3000/`,
  `//preview/${id}/3000/`,
])('%s is no preview', (url) => {
  expect(addresses.byPath(url)).toBeUndefined();
});

test.each(['', 'a b', 'http://', 'ftp://x', '-x', 'x..y', 'x:0', 'x:70000', 'https://x/path'])(
  '%j is no domain for previews',
  (text) => {
    expect(() => parsePreviewDomain(text)).toThrow('no domain');
  },
);
