import { expect, test } from 'vitest';
import { SharedTurns } from './shared-turns.ts';

const never = new AbortController().signal;
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when it is told to, and a record of what happened. */
function world() {
  const turns = new SharedTurns();
  const said: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => async () => {
    said.push(`${name} begins`);
    await new Promise<void>((resolve) => ends.set(name, resolve));
    said.push(`${name} ends`);
  };
  return { turns, said, work, end: (name: string) => ends.get(name)?.() };
}

test('many look at once, and who changes waits for them all', async () => {
  const { turns, said, work, end } = world();
  const looking = ['a', 'b'].map((name) => turns.share('x', never, work(name)));
  const changing = turns.alone('x', never, work('change'));
  await tick();
  expect(said).toEqual(['a begins', 'b begins']);
  end('a');
  await tick();
  expect(said).not.toContain('change begins');
  end('b');
  await tick();
  expect(said.at(-1)).toBe('change begins');
  end('change');
  await Promise.all([...looking, changing]);
});

test('who comes to look while a change waits is shown what it left, also many of them', async () => {
  const { turns, said, work, end } = world();
  const first = turns.share('x', never, work('first'));
  const changing = turns.alone('x', never, work('change'));
  const later = ['late', 'later'].map((name) => turns.share('x', never, work(name)));
  end('first');
  await tick();
  end('change');
  await changing;
  await tick();
  expect(said).toEqual(['first begins', 'first ends', 'change begins', 'change ends', 'late begins', 'later begins']);
  end('late');
  end('later');
  await Promise.all([first, ...later]);
});

test('who waits can be aborted, and those behind go on', async () => {
  const { turns, work, end } = world();
  const abort = new AbortController();
  const looking = turns.share('x', never, work('look'));
  const changing = turns.alone('x', abort.signal, work('change'));
  const behind = turns.share('x', never, async () => 'shown');
  abort.abort(new Error('enough'));
  await expect(changing).rejects.toThrow('enough');
  expect(await behind).toBe('shown');
  end('look');
  await looking;
});
