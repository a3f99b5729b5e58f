import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { buildGuest } from '../../packages/guest/build.mjs';
import { DockerDriver } from '../../packages/server/src/drivers/docker/docker-driver.ts';
import { namesOf } from '../../packages/server/src/drivers/docker/instance-name.ts';
import type { RealEngine } from '../real-engine.ts';
import type { DriverUnderTest } from './describe-driver.ts';

const never = new AbortController().signal;

/** In the place of a guest: it never answers. */
function buildIdle(folder: string): string {
  const [source, program] = [join(folder, 'idle.c'), join(folder, 'idle')];
  writeFileSync(source, '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n');
  execFileSync('cc', ['-static', '-o', program, source]);
  return program;
}

/** A driver on a real engine, as an installation of its own. */
export async function engineWorld(real: RealEngine, ociRuntime: 'auto' | 'runsc' = 'auto'): Promise<DriverUnderTest> {
  const folder = mkdtempSync(join(real.folder, 'world-'));
  const installation = newId('request');
  const opened: DockerDriver[] = [];
  const open = async (guestProgram = buildGuest({ quiet: true })) => {
    const { name: kind, host } = real;
    const driver = new DockerDriver({ kind, host, folder: join(folder, 'secrets'), guestProgram, installation });
    await driver.open(never);
    opened.push(driver);
    return driver;
  };
  const driver = await open();
  const labels = { 'caisson.installation': installation };
  const remove = (container: string) =>
    real.engine.call('DELETE', `/containers/${container}`, { query: { force: true }, accept: [404], signal: never });

  return {
    driver,
    async request(key, owner, wish = {}) {
      const resources = { memoryMiB: 256, pids: 128, ...wish.resources };
      const runtime = { ociRuntime, network: { mode: 'off' }, ...wish, resources };
      const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' }, runtime });
      return { key, owner, labels, blueprint, image: real.image };
    },
    async restart() {
      for (const one of opened.splice(0)) await one.close();
      return open();
    },
    hanging: () => open(buildIdle(folder)),
    async removeBehindItsBack(key) {
      await remove(namesOf(key).container);
    },
    async makeOrphan() {
      const { container } = namesOf({ sandbox: newId('sandbox'), incarnation: 1 });
      const body = { Image: real.image.reference, Cmd: ['/bin/true'], Labels: labels };
      await real.engine.call('POST', '/containers/create', { query: { name: container }, body, signal: never });
      return container;
    },
    async close() {
      for (const one of opened.splice(0)) await one.close();
      const query = { all: true, filters: JSON.stringify({ label: [`caisson.installation=${installation}`] }) };
      const { body } = await real.engine.call<{ Id: string }[]>('GET', '/containers/json', { query, signal: never });
      await Promise.all(body.map(({ Id }) => remove(Id)));
    },
  };
}
