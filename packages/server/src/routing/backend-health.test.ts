import { CaissonError } from '@caisson/contract';
import { expect, test } from 'vitest';
import { BackendHealth } from './backend-health.ts';
import { maxFailures } from './breaker.ts';

const backend = { driver: 'oci', host: 'here' };
const fault = new CaissonError('driver_failed');
const failing = (health: BackendHealth, tenant: string, now = 0) => {
  for (let count = 0; count < maxFailures; count += 1) health.failed(backend, tenant, fault, now);
};

test('who failed often leaves a backend alone, and nobody else does', () => {
  const health = new BackendHealth();
  failing(health, 'evil');
  expect(health.whyResting(backend, 'evil', 1)).toMatch(/5 launches failed; it is left alone for 10 s more/);
  expect(health.whyResting(backend, 'acme', 1)).toBeUndefined();
  expect(health.whyResting({ ...backend, driver: 'docker' }, 'evil', 1)).toBeUndefined();
  expect(health.state(backend, 1)).toBe('open');
});

test('when several tenants failed everybody leaves it alone, until a launch succeeds', () => {
  const health = new BackendHealth();
  failing(health, 'acme', 100);
  failing(health, 'other', 100);
  expect(health.whyResting(backend, 'third', 200)).toMatch(/launches failed/);
  health.launched(backend, 'fourth', 10, 300);
  expect(health.whyResting(backend, 'third', 400)).toBeUndefined();
  expect(health.whyResting(backend, 'acme', 400)).toMatch(/launches failed/);
});

test('a success forgets the failures before it', () => {
  const health = new BackendHealth();
  failing(health, 'acme');
  health.launched(backend, 'acme', 10, 1);
  expect(health.whyResting(backend, 'acme', 2)).toBeUndefined();
  expect(health.state(backend, 2)).toBe('closed');
});

test('one that tries it out keeps its own tenant away meanwhile, and a fault that is not the backend’s ends the try', () => {
  const health = new BackendHealth();
  failing(health, 'acme');
  expect(health.whyResting(backend, 'acme', 10_000)).toBeUndefined();
  health.began(backend, 'acme', 10_000);
  expect(health.whyResting(backend, 'acme', 10_001)).toMatch(/trying it out/);
  health.failed(backend, 'acme', new CaissonError('image_not_found'), 10_002);
  expect(health.whyResting(backend, 'acme', 10_003)).toBeUndefined();
});

test('however many tenants fail, only so many are remembered', () => {
  const health = new BackendHealth();
  for (let tenant = 0; tenant < 1_200; tenant += 1) failing(health, `t${tenant}`, tenant);
  expect(health.whyResting(backend, 't1199', 1_200)).toMatch(/launches failed/);
  health.launched(backend, 'good', 1, 2_000);
  expect(health.whyResting(backend, 't0', 2_001)).toBeUndefined();
});

test('what an earlier server measured is known, and what is measured is given to be kept once', () => {
  const health = new BackendHealth([{ ...backend, mean: { ms: 40, weight: 1, at: 0 } }]);
  expect(health.latencyMs(backend, 1)).toBe(40);
  expect(health.takeChanged()).toEqual([]);
  health.launched(backend, 'acme', 20, 1);
  expect(health.takeChanged()).toMatchObject([{ ...backend, mean: { at: 1 } }]);
  expect(health.takeChanged()).toEqual([]);
});
