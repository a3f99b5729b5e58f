import { newId, type Sandbox, type Snapshot } from '@caisson/contract';
import { expect, test } from 'vitest';
import { historyText } from './history-text.ts';
import { Screen } from './screen.ts';

const sink = { isTTY: false, columns: 80, write: () => true };
const screen = new Screen({ argv: [], env: {}, out: sink as never, err: sink as never });
const long = new Date(Date.now() - 2 * 3_600_000).toISOString();

const sandboxAt = (head: Snapshot | null, state: Sandbox['state'] = 'ready') =>
  ({ head: head?.id ?? null, state }) as unknown as Sandbox;

/** Snapshots as they were made, oldest first. */
class Past {
  readonly made: Snapshot[] = [];

  turn(parent: Snapshot | string | null, change: Partial<Snapshot> = {}): Snapshot {
    const turn = this.made.length + 1;
    const one = {
      id: newId('snapshot'),
      kind: 'turn',
      name: `turn-${turn}`,
      turn,
      parent: typeof parent === 'string' ? parent : (parent?.id ?? null),
      labels: {},
      createdAt: long,
      ...change,
    } as unknown as Snapshot;
    this.made.push(one);
    return one;
  }

  /** Without the times. */
  lines(head: Snapshot | null, state?: Sandbox['state']): string[] {
    const text = historyText(screen, sandboxAt(head, state), [...this.made].reverse());
    return text.split('\n').map((line) => line.replaceAll('  2h ago', ''));
  }
}

test('nothing yet says what makes something', () => {
  expect(new Past().lines(null)).toEqual(['no snapshots yet; `caisson turn-complete` makes one']);
});

test('a line without branches is one column, and ends where the sandbox is', () => {
  const past = new Past();
  const last = past.turn(past.turn(past.turn(null)));
  expect(past.lines(last)).toEqual(['turn-1', 'turn-2', 'turn-3', 'now']);
  expect(past.lines(last, 'destroyed')).toEqual(['turn-1', 'turn-2', 'turn-3']);
});

test('a rollback begins a branch, and branches may branch', () => {
  const past = new Past();
  const one = past.turn(null);
  const two = past.turn(one);
  const three = past.turn(two);
  past.turn(two);
  const five = past.turn(one);
  expect(past.lines(five)).toEqual(['turn-1', '├─ turn-2', '│  ├─ turn-3', '│  ╰─ turn-4', '╰─ turn-5', '   now']);
  expect(past.lines(three)).toContain('│  │  now');
  expect(past.lines(one).at(-1)).toBe('╰─ now');
});

test('what hangs on something that is gone, or is of another sandbox, is a root', () => {
  const past = new Past();
  past.turn(newId('snapshot'));
  const other = past.turn(newId('snapshot'));
  past.turn(other);
  const nowhere = { id: newId('snapshot') } as Snapshot;
  expect(past.lines(nowhere)).toEqual(['├─ turn-1', '├─ turn-2', '│  turn-3', '╰─ now']);
});

test('a name, a kind and labels are told, and cannot command the terminal', () => {
  const past = new Past();
  const one = past.turn(null, { kind: 'named', name: null, labels: { why: 'a\u001b[2Jb' } });
  expect(past.lines(one)[0]).toBe(`${one.id}  named  why=a\\x1b[2Jb`);
});

test('ten thousand in a row, or side by side, are drawn at once', () => {
  const [row, fan] = [new Past(), new Past()];
  let last: Snapshot | null = null;
  const root = fan.turn(null);
  for (let turn = 0; turn < 10_000; turn += 1) {
    last = row.turn(last);
    fan.turn(root);
  }
  const began = performance.now();
  expect(row.lines(last)).toHaveLength(10_001);
  expect(fan.lines(root)).toHaveLength(10_002);
  expect(performance.now() - began).toBeLessThan(15_000);
});
