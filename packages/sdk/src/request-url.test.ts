import { hasCode } from '@caisson/contract';
import { expect, test } from 'vitest';
import { requestUrl } from './request-url.ts';

const route = { path: '/v1/sandboxes/{id}' };

test('a list is repeated, and what is undefined is left out', () => {
  const query = { state: ['ready', 'failed'], limit: 3, all: true, name: undefined };
  expect(requestUrl('http://h', { path: '/v1/x' }, {}, query)).toBe(
    'http://h/v1/x?state=ready&state=failed&limit=3&all=true',
  );
});

test('a parameter stays one segment of the path', () => {
  expect(requestUrl('http://h', route, { id: '../keys?x#y' }, {})).toBe('http://h/v1/sandboxes/..%2Fkeys%3Fx%23y');
});

test.each(['', '.', '..', '\ud800', undefined, 7])('the parameter %j is refused', (id) => {
  expect(() => requestUrl('http://h', route, { id }, {})).toThrow(
    expect.toSatisfy((error) => hasCode(error, 'request_invalid')),
  );
});
