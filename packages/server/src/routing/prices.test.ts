import { expect, test } from 'vitest';
import { overPrices, priceOf, shippedPrices } from './prices.ts';

const size = { cpus: 2, memoryMiB: 1536 };
const entry = { driver: 'cloud', perHour: 10, perCpuHour: 100, perGiBHour: 1000 };

test('a price is that of the size, rounded up', () => {
  const table = { asOf: '2026-11-15', entries: [entry] };
  expect(priceOf(table, { driver: 'cloud', host: 'x' }, size)).toBe(10 + 200 + 1500);
  expect(priceOf(table, { driver: 'cloud', host: 'x' }, { cpus: 0.001, memoryMiB: 0 })).toBe(11);
});

test('the entry of the host is nearer than that of the driver', () => {
  const table = {
    asOf: '2026-11-15',
    entries: [entry, { ...entry, host: 'x', perHour: 0, perCpuHour: 0, perGiBHour: 0 }],
  };
  expect(priceOf(table, { driver: 'cloud', host: 'x' }, size)).toBe(0);
  expect(priceOf(table, { driver: 'cloud', host: 'y' }, size)).toBe(1710);
});

test('what is not in the table has no price, and not the price nothing', () => {
  expect(priceOf(shippedPrices, { driver: 'cloud', host: 'x' }, size)).toBeNull();
  expect(priceOf(shippedPrices, { driver: 'oci', host: 'x' }, size)).toBe(0);
});

test('a table of one’s own stands over what ships, entry by entry', () => {
  const own = overPrices(shippedPrices, { asOf: '2026-11-15', entries: [{ ...entry, driver: 'oci' }] });
  expect(priceOf(own, { driver: 'oci', host: 'x' }, size)).toBe(1710);
  expect(priceOf(own, { driver: 'docker', host: 'x' }, size)).toBe(0);
  expect(own.asOf).toBe('2026-11-15');
});
