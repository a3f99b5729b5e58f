import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import type { Driver, InstanceKey } from '../../packages/server/src/drivers/driver.ts';
import { openStore } from '../../packages/server/src/store/store.ts';
import { type TestServer, testServer } from '../e2e/server.ts';
import type { DriverUnderTest } from './describe-driver.ts';
import { HttpDriver } from './http-driver.ts';
import { insideSandbox } from './inside.ts';
import type { DeclaredSkip } from './skips.ts';

/** What a server under test stands on. */
export interface Below {
  /** As the server is told of it: by name, or as it is. */
  readonly driver: string | Driver;
  readonly name: string;
  readonly capabilities: Driver['capabilities'];
  readonly ociRuntime?: string;
  /** Removes the instance on the backend itself. `runtimeFolder` is where the server keeps what it has of instances. */
  remove(key: InstanceKey, runtimeFolder: string): Promise<void>;
  /** From now on a create hangs half-way. */
  hang?(): void;
  close?(): Promise<void>;
}

const never = new AbortController().signal;

/** Where a law makes no sense through a server. */
export const httpSkips: readonly DeclaredSkip[] = [
  { test: 'supports a plain blueprint', reason: 'a server says it by creating or refusing, not beforehand' },
  {
    test: 'keeps incarnations of one sandbox apart',
    reason: "incarnations are the server's own: two keys of the suite are two sandboxes",
  },
  {
    test: 'gives back the labels that an instance was created with, whole, also after a restart',
    reason: 'labels of instances are between the server and its driver; the API has those of sandboxes',
  },
  {
    test: 'lists an instance without a whole owner as an orphan and not as an instance',
    reason: 'the API lists records, which always have an owner; orphans are ended by the reconciler',
  },
];

/** A real server on a driver, seen as a driver. */
export async function httpWorld(below: Below): Promise<DriverUnderTest> {
  const options = { drivers: [below.driver], reconcileSeconds: 0.2 };
  let server: TestServer = await testServer(options);
  const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
  const local = new Caisson({ baseUrl: server.url });
  const { secret } = await local.keys.create({ name: 'suite', ...owner, scope: 'admin' });
  const client = () => new Caisson({ baseUrl: server.url, apiKey: secret });
  const open = () => new HttpDriver(client(), below);
  return {
    driver: open(),
    async restart() {
      server = await server.restart();
      return open();
    },
    async request(key, asked, wish = {}) {
      const resources = { memoryMiB: 256, pids: 128, ...wish.resources };
      const ociRuntime = below.ociRuntime ?? 'auto';
      const runtime = { ociRuntime, network: { mode: 'off' }, ...wish, resources };
      return {
        key,
        owner: asked,
        labels: {},
        blueprint: normalizeUserWorkspaceSpec({ source: { kind: 'none' }, runtime }),
      };
    },
    async inside(driver, key) {
      const sandbox = await (driver as HttpDriver).find(key, never);
      if (!sandbox) throw new Error('there is no such sandbox');
      return insideSandbox(sandbox);
    },
    async hanging() {
      below.hang?.();
      return open();
    },
    async removeBehindItsBack(key) {
      const driver = open();
      const sandbox = await driver.find(key, never);
      if (!sandbox) throw new Error('there is no such sandbox');
      const { id, incarnation } = sandbox.record;
      const [{ source } = { source: '' }] = (await client().call('event.list', { query: { limit: 1 } })).items;
      await below.remove({ sandbox: id, incarnation }, join('/run', source));
      await driver.untilLost(key, AbortSignal.timeout(10_000));
    },
    async makeOrphan() {
      throw new Error('the API lists no orphans');
    },
    async close() {
      for await (const sandbox of client().sandboxes.list()) await sandbox.destroy();
      await server.server.close();
      const runtime = await runtimeFolder(server.folder);
      await server.close();
      await below.close?.();
      rmSync(runtime, { recursive: true, force: true });
    },
  };
}

/** Where a server that has ended kept what goes with the machine's next start; only its record knows the name. */
async function runtimeFolder(dataFolder: string): Promise<string> {
  const store = await openStore({ sqlite: join(dataFolder, 'caisson.db') });
  await store.close();
  return join('/run/caisson', store.installation);
}
