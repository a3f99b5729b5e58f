import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Diff, SandboxHandle, Snapshot } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { CliWorld } from './cli-world.ts';
import { sh, treeSum } from './tree-sum.ts';

/** From inside a sandbox on one server to inside a sandbox on another, with another storage, by the command and by the SDK. */
describe.runIf(whyNoSandboxes === undefined)('the content of snapshots, between two servers', () => {
  const here = new SandboxWorld({ storage: 'overlay' });
  const there = new SandboxWorld({ storage: 'btrfs' });
  const cli = new CliWorld();
  let sandbox: SandboxHandle;
  let first: Snapshot;
  beforeAll(async () => {
    await Promise.all([here.start(), there.start()]);
    sandbox = await here.client().sandboxes.create({ spec, name: 'agent' });
    await sh(sandbox, 'cd /workspace; printf "one\\ntwo\\n" > text; mkdir -p a/b; ln text a/hard; ln -s text a/soft');
    await sh(sandbox, 'cd /workspace; chown 77:88 a/b; chmod 4751 text; rm /etc/hosts; echo x > /opt/new');
    first = await sandbox.snapshot({ name: 'first', labels: { stage: 'one' } });
  }, 120_000);
  afterAll(async () => {
    await cli.close();
    await Promise.all([here.close(), there.close()]);
  }, 120_000);

  const run = (world: SandboxWorld, ...args: string[]) => cli.run([...args, '--url', world.server.url]);

  test('what a sandbox has changed since is told by path and by line, while it goes on', async () => {
    await sh(sandbox, 'cd /workspace; printf "one\\n2\\n" > text; mkdir new; rm a/soft');
    const items = [];
    for await (const { path, change } of here.client().snapshots.diff(first.id)) items.push(`${change} ${path}`);
    expect(items).toEqual([
      'changed /workspace/a/hard',
      'removed /workspace/a/soft',
      'added /workspace/new',
      'changed /workspace/text',
    ]);
    const file = await here.client().snapshots.diffFile(first.id, '/workspace/text');
    expect(file.text).toBe('--- a/workspace/text\n+++ b/workspace/text\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n');
    const second = await sandbox.snapshot();
    const between = await here.client().snapshots.diffPage(first.id, { to: second.id });
    expect(between.items.map(({ path, change }) => `${change} ${path}`)).toEqual(items);
    // What the machine shows in a sandbox is not of its files.
    await expect(here.client().snapshots.diffFile(first.id, '/usr/bin/env')).rejects.toMatchObject({
      code: 'file_not_found',
    });
  });

  test('the command shows it to people and to programs', async () => {
    const shown = await run(here, 'snapshots', 'diff', 'agent:first', '--path', '/workspace');
    expect(shown).toMatchObject({ code: 0, err: '4 paths differ: 2 changed, 1 removed, 1 added\n' });
    expect(shown.out.split('\n')[1]).toBe('removed  link    /workspace/a/soft');
    const file = await run(here, 'snapshots', 'diff', 'agent:first', '--file', '/workspace/text');
    expect(file.out).toContain('\n-two\n+2\n');
    const json = await run(here, 'snapshots', 'diff', first.id, '--json', '--limit', '1');
    const diff = JSON.parse(json.out) as Diff;
    expect(diff).toMatchObject({ from: first.id, to: 'now', items: [{ change: 'changed' }], next: expect.any(String) });
    expect((await run(here, 'snapshots', 'diff', 'agent:none')).code).toBe(66);
  }, 120_000);

  test('one goes to the other server as a file, and a sandbox made of it there has the same tree', async () => {
    const sum = async (of: SandboxHandle) => [await treeSum(of), await treeSum(of, '/opt')];
    await sandbox.rollback('first');
    const expected = await sum(sandbox);
    const file = join(cli.home, 'first.tar');
    const exported = await run(here, 'snapshots', 'export', 'agent:first', '-o', file);
    expect(exported).toMatchObject({ code: 0, out: expect.stringContaining(file) });
    const imported = await run(there, 'snapshots', 'import', file, '--name', 'brought', '-l', 'from=here');
    expect(imported).toMatchObject({ code: 0 });
    const copy = await there.client().snapshots.get(imported.out.trim());
    expect(copy).toMatchObject({ name: 'brought', kind: 'named', labels: { from: 'here' }, parent: null });
    expect(copy.exclusiveBytes).not.toBeNull();
    const restored = await there.client().snapshots.restore(copy.id);
    expect(restored.record).toMatchObject({ state: 'ready', origin: { snapshot: copy.id } });
    expect(await sum(restored)).toEqual(expected);
    expect(await sh(restored, 'test -e /etc/hosts || echo gone')).toBe('gone');
    // And back again, compressed.
    const back = join(cli.home, 'back.tar.gz');
    expect((await run(there, 'snapshots', 'export', copy.id, '-o', back)).code).toBe(0);
    expect(statSync(back).size).toBeLessThan(statSync(file).size);
    const again = await run(here, 'snapshots', 'import', back, '--json');
    const between = await here.client().snapshots.diffPage(first.id, { to: (JSON.parse(again.out) as Snapshot).id });
    expect(between.items).toEqual([]);
    await restored.destroy();
  }, 120_000);

  test('what is no archive, or not a whole one, is refused, and leaves no file behind', async () => {
    const file = join(cli.home, 'broken.tar');
    writeFileSync(file, 'no archive at all'.repeat(1000));
    const refused = await run(there, 'snapshots', 'import', file);
    expect(refused).toMatchObject({ code: 70, err: expect.stringContaining('not') });
    expect((await run(there, 'snapshots', 'import', join(cli.home, 'none.tar'))).code).toBe(65);
    const folder = join(cli.home, 'nowhere', 'x.tar');
    expect((await run(here, 'snapshots', 'export', first.id, '-o', folder)).code).toBe(65);
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(join(there.folder, 'images', 'making'))).toEqual([]);
  }, 120_000);

  test('a server that is killed while it imports keeps nothing of it', async () => {
    await sh(sandbox, 'head -c 60M /dev/urandom > /workspace/large');
    const large = await sandbox.snapshot();
    const { content } = await here.client().snapshots.export(large.id);
    const bytes = await new Response(content).arrayBuffer();
    const known = (await there.client().snapshots.page()).items.length;
    for (const ms of [50, 200, 400]) {
      const importing = there
        .client()
        .snapshots.import(bytes)
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, ms));
      await there.kill();
      await importing;
      await there.start();
      const { items } = await there.client().snapshots.page();
      for (const { id } of items) await there.client().snapshots.get(id);
      expect(readdirSync(join(there.folder, 'images', 'making'))).toEqual([]);
      if (items.length > known) await there.client().snapshots.delete(items[0]?.id ?? '');
    }
  }, 120_000);

  test('a client that leaves an export lets go of the snapshot', async () => {
    const large = await sandbox.snapshot();
    const { content } = await here.client().snapshots.export(large.id);
    await content.cancel();
    await here.client().snapshots.delete(large.id);
  }, 120_000);
});
