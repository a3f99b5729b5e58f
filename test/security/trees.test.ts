import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Attacked, compile, never, SandboxWorld } from './sandbox-world.ts';

/** What the server does with a tree that a sandbox made, while the sandbox may still be at work in it. */
let world: SandboxWorld;
let sandbox: Attacked;

beforeAll(async () => {
  world = await SandboxWorld.open('runc');
  sandbox = await world.launch();
  for (const name of ['swap', 'dig'])
    await sandbox.guest.files.write(`/${name}`, compile(`${name}.c`), { user: 'root', mode: 0o755 });
});
afterAll(() => world.close());

async function snapshot(of: Attacked): Promise<string> {
  const id = newId('snapshot');
  await world.storage.snapshot(of.id, id, never);
  return join(world.folder, 'pool', 'snapshots', id, 'upper');
}

test('a folder that turns into a link while a snapshot is taken leads to no file of the host', async () => {
  const outside = join(world.folder, 'outside');
  mkdirSync(outside);
  for (let n = 0; n < 50; n += 1) writeFileSync(join(outside, `secret-${n}`), 'of the host');
  await sandbox.sh(
    `mkdir -p /race/d && for n in $(seq 50); do echo own > /race/d/own-$n; done; ln -s ${outside} /race/l`,
  );
  const racer = await sandbox.guest.processes.spawn({ argv: ['/swap', '/race/d', '/race/l'], user: 'root' });
  for (let round = 0; round < 40; round += 1) {
    const tree = await snapshot(sandbox);
    const files = execFileSync('find', [tree, '-type', 'f', '-name', 'secret-*'], { encoding: 'utf8' });
    expect(files).toBe('');
  }
  await racer.signal(9);
  expect((await racer.wait()).signal).toBe(9);
});

test('links, pipes and odd names are copied as what they are', async () => {
  await sandbox.sh(
    'mkdir /odd && cd /odd && ln -s /etc/shadow link && mkfifo pipe && touch "$(printf \'latin\\351\')" && ln -s loop loop',
  );
  const tree = join(await snapshot(sandbox), 'odd');
  expect(readlinkSync(join(tree, 'link'))).toBe('/etc/shadow');
  expect(lstatSync(join(tree, 'pipe')).isFIFO()).toBe(true);
  expect(readlinkSync(join(tree, 'loop'))).toBe('loop');
  expect(readdirSync(tree, { encoding: 'buffer' }).map((name) => name.toString('latin1'))).toContain('latin\u00e9');
});

test('a file of a tebibyte that holds nothing takes nothing', async () => {
  await sandbox.sh('truncate -s 1T /sparse');
  const begin = performance.now();
  const tree = await snapshot(sandbox);
  expect(performance.now() - begin).toBeLessThan(20_000);
  const { size, blocks } = lstatSync(join(tree, 'sparse'));
  expect(size).toBe(2 ** 40);
  expect(blocks).toBeLessThan(64);
});

test('a tree deeper than any path is copied, rolled back and destroyed', async () => {
  const deep = await world.launch();
  await deep.guest.files.write('/dig', compile('dig.c'), { user: 'root', mode: 0o755 });
  expect((await deep.sh('cd /tmp && /dig 500')).code).toBe(0);
  const id = newId('snapshot');
  await world.storage.snapshot(deep.id, id, never);
  await world.driver.destroy(deep.key, never);
  await world.storage.rollback(deep.id, id, never);
  await world.storage.destroy(deep.id, never);
  await world.storage.removeSnapshot(id, never);
  expect((await world.storage.list(never)).sandboxes).not.toContain(deep.id);
  for (const folder of ['trash', 'making']) expect(readdirSync(join(world.folder, 'pool', folder))).toEqual([]);
});

test('a device in a tree is refused, whoever made it', async () => {
  const strange = await world.launch();
  const upper = join(world.folder, 'pool', 'rootfs', strange.id, 'changes', 'upper');
  execFileSync('mknod', [join(upper, 'memory'), 'c', '1', '1']);
  await expect(world.storage.snapshot(strange.id, newId('snapshot'), never)).rejects.toMatchObject({
    code: 'storage_failed',
    message: expect.stringContaining('memory'),
  });
});
