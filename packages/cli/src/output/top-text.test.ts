import { newId } from '@caisson/contract';
import { expect, test } from 'vitest';
import { Screen } from './screen.ts';
import { type Moment, topText } from './top-text.ts';

const sink = { isTTY: false, write: () => true } as never;
const screen = new Screen({ argv: [], env: {}, out: sink, err: sink });
const owner = { tenant: 't', project: 'p', principal: 'ada' };

function moment(at: number, cpu: Record<string, number>): Moment {
  const items = Object.entries(cpu).map(([name, cpuSeconds]) => ({
    sandbox: newId('sandbox'),
    name,
    owner,
    driver: 'oci',
    stats: { cpuSeconds, memoryBytes: 1024, processes: 1, diskUsedBytes: null, diskTotalBytes: null, uptimeSeconds: 5 },
  }));
  return { at, usage: { items, isWhole: true }, health: undefined };
}

test('the busiest since the look before come first', () => {
  const before = moment(0, { idle: 100, busy: 1 });
  const now: Moment = {
    at: 2_000,
    health: { state: 'ok', checks: [] },
    usage: {
      isWhole: true,
      items: before.usage.items.map((item) => ({
        ...item,
        stats: item.stats && { ...item.stats, cpuSeconds: item.stats.cpuSeconds + (item.name === 'busy' ? 1 : 0) },
      })),
    },
  };
  const lines = topText(screen, now, before).split('\n');
  expect(lines[0]).toContain('2 running');
  expect(lines[0]).toContain('the server is ok');
  expect(lines[3]).toMatch(/^busy .*50\.0%/);
  expect(lines[4]).toMatch(/^idle .*0\.0%/);
});

test('the first look knows no share, and one that nobody could ask is shown all the same', () => {
  const now = moment(0, { one: 1 });
  const [item] = now.usage.items;
  const text = topText(
    screen,
    { ...now, usage: { items: item ? [{ ...item, stats: null }] : [], isWhole: false } },
    undefined,
  );
  expect(text).toContain('1 of more running');
  expect(text.split('\n')[3]).toMatch(/^one\s+ada\s+oci\s+-\s+-\s+-\s+-\s+-$/);
});
