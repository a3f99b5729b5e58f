import { expect, test } from 'vitest';
import { z } from 'zod';
import { includesScope, type Route, scopes } from './route.ts';
import { routeNames, routes } from './routes.ts';
import { createSandboxSchema } from './sandbox-routes.ts';

test('no two routes answer the same method and path', () => {
  const keys = routeNames.map((name) => `${routes[name].method} ${routes[name].path.replace(/\{\w+\}/g, '{}')}`);
  expect(new Set(keys).size).toBe(keys.length);
});

test.each(routeNames)(
  '%s is complete: its path and its params agree, and its shapes can be written as JSON Schema',
  (name) => {
    const route: Route = routes[name];
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect(Object.keys(route.params?.shape ?? {})).toEqual(inPath);
    if (route.owned) expect(inPath).toContain('id');
    if (route.method === 'GET') expect(route.body).toBeUndefined();
    expect(route.summary.length).toBeGreaterThan(5);
    for (const input of [route.params, route.query, route.body]) if (input) z.toJSONSchema(input, { io: 'input' });
    for (const answer of Object.values(route.responses)) z.toJSONSchema(answer, { io: 'output' });
  },
);

test('a scope includes every weaker one', () => {
  for (const [held, a] of scopes.entries()) {
    for (const [wanted, b] of scopes.entries()) expect(includesScope(a, b)).toBe(held >= wanted);
  }
});

test.each([
  ['an unknown key', { spce: {} }],
  ['a name with a newline', { name: 'a\n' }],
  ['a negative wait', { waitSeconds: -1 }],
  ['a wait as text', { waitSeconds: '60' }],
  ['a spec that is not an object', { spec: 'x' }],
  ['an endless lease', { ttlSeconds: 1e12 }],
])('a create request with %s is refused', (_, body) => {
  expect(createSandboxSchema.safeParse(body).success).toBe(false);
});

test('an empty create request is valid and waits for a minute', () => {
  expect(createSandboxSchema.parse({})).toEqual({ waitSeconds: 60 });
});
