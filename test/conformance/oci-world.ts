import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { buildGuest } from '../../packages/guest/build.mjs';
import type { CreateRequest, InstanceKey } from '../../packages/server/src/drivers/driver.ts';
import { programOf } from '../../packages/server/src/drivers/oci/find-runtimes.ts';
import { InstanceFolder } from '../../packages/server/src/drivers/oci/instance-folder.ts';
import { OciDriver } from '../../packages/server/src/drivers/oci/oci-driver.ts';
import { unmountBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import { OverlayStorage } from '../../packages/server/src/storage/overlay/overlay-storage.ts';
import type { ImageLayers } from '../../packages/server/src/storage/storage.ts';
import type { DriverUnderTest, RuntimeWish } from './describe-driver.ts';

const never = new AbortController().signal;

/** The smallest tree that programs of the host run in. */
export function hostImage(folder: string): ImageLayers {
  const layer = join(folder, 'layer');
  for (const name of ['etc', 'usr', 'root', 'tmp', 'home', 'proc', 'sys', 'dev', 'run', 'var'])
    mkdirSync(join(layer, name), { recursive: true });
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(layer, name));
  chmodSync(join(layer, 'tmp'), 0o1777);
  writeFileSync(join(layer, 'etc', 'passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  writeFileSync(join(layer, 'etc', 'group'), 'root:x:0:\n');
  return { digest: `sha256:${'0'.repeat(64)}`, layers: [layer], binds: [{ source: '/usr', target: '/usr' }] };
}

/** In the place of a guest: it can be tried out, and then never dials. */
function buildIdle(folder: string): string {
  const [source, program] = [join(folder, 'idle.c'), join(folder, 'idle')];
  writeFileSync(source, '#include <unistd.h>\nint main(int n, char **v) { if (n < 3) return 0; for (;;) pause(); }\n');
  execFileSync('cc', ['-static', '-o', program, source]);
  return program;
}

/** A driver on a real runtime, with real root filesystems, in a folder of its own. */
export async function ociWorld(runtime: 'auto' | 'runc' | 'crun' | 'runsc'): Promise<DriverUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'csn-'));
  chmodSync(folder, 0o711);
  const guestProgram = buildGuest({ quiet: true });
  const host = new HostClient(guestProgram);
  const storage = new OverlayStorage({ pool: join(folder, 'pool'), mounts: join(folder, 'mounts'), host });
  const image = hostImage(folder);
  const root = join(folder, 'run');
  const opened: OciDriver[] = [];
  const open = async () => {
    const driver = new OciDriver({ root, guestProgram, host });
    await driver.open(never);
    opened.push(driver);
    return driver;
  };
  const driver = await open();

  async function request(
    key: InstanceKey,
    owner: CreateRequest['owner'],
    wish: RuntimeWish = {},
  ): Promise<CreateRequest> {
    const resources = { memoryMiB: 256, pids: 128, ...wish.resources };
    const blueprint = normalizeUserWorkspaceSpec({
      source: { kind: 'none' },
      runtime: { ociRuntime: runtime, network: { mode: 'off' }, ...wish, resources },
    });
    const ownIds = driver.ownIds(blueprint);
    const rootfs = await storage.prepare({ sandbox: key.sandbox, image, ownIds }, never);
    return { key, owner, labels: { 'caisson.installation': 'test' }, blueprint, rootfs };
  }

  return {
    driver,
    request,
    async restart() {
      for (const one of opened.splice(0)) await one.close();
      return open();
    },
    async hanging() {
      const hangs = new OciDriver({ root, guestProgram: buildIdle(folder), host });
      opened.push(hangs);
      return hangs;
    },
    async removeBehindItsBack(key) {
      await new OciDriver({ root, guestProgram, host }).destroy(key, never);
    },
    async makeOrphan() {
      const key = { sandbox: newId('sandbox'), incarnation: 1 };
      await driver.create(await request(key, { tenant: 'a', project: 'b', principal: 'c' }), never);
      const instance = new InstanceFolder(root, InstanceFolder.nameOf(key));
      const record = instance.read();
      if (!record) throw new Error('no record');
      await instance.write({ ...record, labels: {} });
      return instance.name;
    },
    async close() {
      const [last] = opened.slice(-1);
      for (const name of InstanceFolder.names(root)) {
        const key = InstanceFolder.keyOf(name);
        if (key) await last?.destroy(key, never);
      }
      for (const one of opened.splice(0)) await one.close();
      await unmountBelow(host, folder);
      await host.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Why there can be no instances of a runtime here; undefined when there can. */
export function whyNoRuntime(name: 'runc' | 'crun' | 'runsc'): string | undefined {
  if (process.getuid?.() !== 0) return `${name} needs root`;
  return programOf(name) ? undefined : `${name} is not installed`;
}
