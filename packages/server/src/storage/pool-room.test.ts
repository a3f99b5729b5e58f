import { expect, test } from 'vitest';
import { PoolRoom } from './pool-room.ts';
import { type PoolHealth, poolState } from './storage.ts';

const gib = 1024 ** 3;
const health = (freeBytes: number, totalBytes = 100 * gib): PoolHealth => ({
  state: poolState(totalBytes, freeBytes),
  totalBytes,
  freeBytes,
  detail: 'the pool /data/pool.btrfs',
});

test('a pool is degraded from 85 % on and full from 95 % on', () => {
  expect([16, 15, 6, 5].map((free) => health(free * gib).state)).toEqual(['ok', 'warn', 'warn', 'critical']);
});

test('a full pool is refused with how full it is, and what to do', async () => {
  await new PoolRoom(async () => health(6 * gib)).require();
  await expect(new PoolRoom(async () => health(4.5 * gib)).require()).rejects.toMatchObject({
    code: 'storage_full',
    message: expect.stringContaining('the pool /data/pool.btrfs is 95 % full, 4.5 GiB of 100 GiB are free'),
    hint: expect.stringContaining('Destroy'),
  });
});

test('many who ask at once look once, and a look that failed is not kept', async () => {
  let looks = 0;
  const room = new PoolRoom(async () => {
    looks += 1;
    if (looks === 1) throw new Error('away');
    return health(50 * gib);
  });
  await expect(room.health()).rejects.toThrow('away');
  await Promise.all(Array.from({ length: 20 }, () => room.require()));
  expect(looks).toBe(2);
});
