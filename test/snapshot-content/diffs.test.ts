import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DiffItem, maxFileDiffBytes, type Snapshot } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BaseImage } from '../../packages/server/src/images/images.ts';
import type { Rootfs } from '../../packages/server/src/storage/storage.ts';
import { isRoot } from '../images/images-folder.ts';
import { compile } from '../security/sandbox-world.ts';
import { ada, ContentWorld, eve, never, shell } from './content-world.ts';

const shown = (items: readonly DiffItem[]) => items.map(({ path, change }) => `${change} ${path}`);

describe.runIf(isRoot).each(['overlay', 'btrfs'] as const)('diffs over %s', (kind) => {
  let world: ContentWorld;
  let sandbox: Rootfs & { readonly image: BaseImage };
  let first: Snapshot;
  beforeAll(async () => {
    world = await ContentWorld.open(kind);
    sandbox = await world.sandbox();
    shell('mkdir work; echo one > work/a; echo same > work/b; ln -s a work/l', sandbox.path);
    first = await world.snapshot(sandbox, 'first');
  }, 120_000);
  afterAll(() => world.close());

  const diff = (to: Snapshot['id'] | 'now', more: { path?: string; limit?: number; after?: string } = {}) =>
    world.diffs.diff(ada, first.id, to, { limit: 1000, ...more }, never);

  test('a snapshot and now, between snapshots and back: each path with what it was and is', async () => {
    expect(await diff('now')).toMatchObject({ from: first.id, to: 'now', items: [], next: null, skipped: 0 });
    shell(
      `echo three > work/a; touch work/b; ln -sfn b work/l; rm -rf deep; chmod 600 etc/changed; rm bin/tool; mkdir bin/tool
       echo new > "work/$(printf 'latin\\351')"; truncate -s 100G work/huge`,
      sandbox.path,
    );
    const now = await diff('now');
    const second = await world.snapshot(sandbox);
    expect(shown(now.items)).toEqual([
      'replaced /bin/tool',
      'removed /deep',
      expect.stringMatching(/^removed \/deep\/long/),
      expect.stringMatching(/^removed \/deep\/long.*\/long/),
      'attributes /etc/changed',
      'changed /work/a',
      'added /work/huge',
      'changed /work/l',
      'added /work/latin\udce9',
    ]);
    expect((await diff(second.id)).items).toEqual(now.items);
    const node = { kind: 'file', mode: 0o644, uid: 0, gid: 0 };
    expect(now.items.find(({ path }) => path === '/work/a')).toEqual({
      path: '/work/a',
      change: 'changed',
      before: { ...node, size: 4 },
      after: { ...node, size: 6 },
    });
    const back = await world.diffs.diff(ada, second.id, first.id, { limit: 1000 }, never);
    const opposite = { added: 'removed', removed: 'added' } as Record<string, string>;
    expect(shown(back.items)).toEqual(now.items.map(({ path, change }) => `${opposite[change] ?? change} ${path}`));
    expect(shown((await diff(second.id, { path: '/work/' })).items)).toEqual(
      shown(now.items).filter((line) => line.includes('/work/')),
    );
  });

  test('pages follow each other, whatever the names are', async () => {
    const all: DiffItem[] = [];
    for (let after: string | undefined; ; ) {
      const page = await diff('now', { limit: 1, ...(after === undefined ? {} : { after }) });
      expect(page.items.length).toBeLessThanOrEqual(1);
      all.push(...page.items);
      if (page.next === null) break;
      after = page.next;
    }
    expect(all).toEqual((await diff('now')).items);
    await expect(diff('now', { after: 'no cursor' })).rejects.toMatchObject({ code: 'cursor_invalid' });
    await expect(diff('now', { path: '/work/../..' })).rejects.toMatchObject({ code: 'file_invalid' });
  });

  test('a file line by line; and why there is no text where there is none', async () => {
    const file = (path: string) => world.diffs.file(ada, first.id, 'now', path, never);
    expect(await file('/work/a')).toMatchObject({
      form: 'text',
      text: '--- a/work/a\n+++ b/work/a\n@@ -1 +1 @@\n-one\n+three\n',
    });
    expect(await file('work/b')).toMatchObject({ path: '/work/b', form: 'equal', text: null });
    expect((await file('/work/l')).text).toContain('-a\n\\ No newline');
    shell(`printf 'a\\0b' > work/binary; head -c ${maxFileDiffBytes + 1} /dev/zero > work/large`, sandbox.path);
    expect(await file('/work/binary')).toMatchObject({ form: 'binary', before: null, after: { size: 3 } });
    expect(await file('/work/large')).toMatchObject({ form: 'too-large', text: null });
    await expect(file('/work/none')).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(file('/work/../../etc/passwd')).rejects.toMatchObject({ code: 'file_invalid' });
  });

  test('snapshots of other images are compared as whole trees', async () => {
    const other = await world.sandbox({ ...sandbox.image, layers: sandbox.image.layers.slice(0, 1) });
    const there = await world.snapshot(other);
    const { items } = await diff(there.id);
    expect(shown(items)).toContain('removed /work/a');
    expect(shown(items)).toContain('added /gone/inside');
    expect(shown(items)).not.toContainEqual(expect.stringContaining('/bin/raw'));
  });

  test('a link, a pipe and a folder that turns into a link lead to no file of the host', async () => {
    const outside = join(world.folder, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret'), 'of the host'.padEnd(54_321));
    shell(
      `mkfifo new-pipe; ln -s ${outside} door; mkdir -p race/d; echo own > race/d/secret; ln -s ${outside} race/l`,
      sandbox.path,
    );
    const file = (path: string) => world.diffs.file(ada, first.id, 'now', path, never);
    expect(await file('/new-pipe')).toMatchObject({ after: { kind: 'other' }, text: null });
    await expect(file('/door/secret')).rejects.toMatchObject({ code: 'file_not_found' });
    expect((await file('/door')).text).toContain(outside);
    writeFileSync(join(sandbox.path, 'swap'), compile('swap.c'), { mode: 0o755 });
    shell('(exec ./swap race/d race/l) > /dev/null 2>&1 & echo $! > swap.pid', sandbox.path);
    try {
      for (let round = 0; round < 30; round += 1) {
        const { items } = await diff('now', { path: '/race' });
        expect(JSON.stringify(items)).not.toContain('54321');
        const answer = await file('/race/d/secret').catch(() => ({ text: '' }));
        expect(answer.text ?? '').not.toContain('of the host');
      }
    } finally {
      shell('kill $(cat swap.pid)', sandbox.path);
    }
  }, 120_000);

  test('a tree deeper than any path is skipped, and told as such', async () => {
    const deep = await world.sandbox(sandbox.image);
    const before = await world.snapshot(deep);
    writeFileSync(join(deep.path, 'dig'), compile('dig.c'), { mode: 0o755 });
    shell('./dig 500', deep.path);
    const found = await world.diffs.diff(ada, before.id, 'now', { limit: 10_000 }, never);
    expect(found.skipped).toBeGreaterThan(0);
    expect(shown(found.items)).toContain('added /dig');
    const after = await world.snapshot(deep);
    await expect(world.exported(after.id)).rejects.toMatchObject({ code: 'file_invalid' });
  });

  test('another tenant sees nothing, and whoever removes a snapshot waits for its viewers and for nothing else', async () => {
    await expect(world.diffs.diff(eve, first.id, 'now', { limit: 1 }, never)).rejects.toMatchObject({
      code: 'snapshot_not_found',
    });
    const pairs = await Promise.all(
      Array.from({ length: 6 }, async () => [await world.snapshot(sandbox), await world.snapshot(sandbox)] as const),
    );
    await Promise.all(
      pairs.flatMap(([a, b]) => [
        world.diffs.diff(ada, a.id, b.id, { limit: 10 }, never).catch(() => undefined),
        world.diffs.diff(ada, b.id, a.id, { limit: 10 }, never).catch(() => undefined),
        world.snapshots.remove(ada, a.id),
        world.snapshots.remove(ada, b.id),
      ]),
    );
  }, 120_000);
});
