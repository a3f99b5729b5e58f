import { join } from 'node:path';
import { migrate, openSqlite } from '@caisson/server';
import { startServerProcess } from '../test/server-process.ts';
import { type Benchmark, percentile } from './report.ts';
import { seedSandboxes } from './seed.ts';
import { inTemporaryFolder } from './temporary.ts';

const count = 10_000;
/** The server has started and looked at everything once by then. */
const firstMs = 20_000;
const spreadMs = 60_000;

/** How late ten thousand leases end, spread over a minute: from the end of each to `destroyed`. */
export const leaseBenchmark: Benchmark = {
  name: 'lease',
  async run(report) {
    await inTemporaryFolder(async (folder) => {
      const database = await openSqlite(join(folder, 'caisson.db'));
      await migrate(database);
      const first = Date.now() + firstMs;
      await seedSandboxes(database, count, join(folder, 'fake'), (n) => ({
        expires_at: first + Math.floor((n * spreadMs) / count),
        at_expiry: 'destroy',
      }));
      const server = await startServerProcess(folder);
      const late = async () => {
        const rows = await database.db
          .selectFrom('events')
          .innerJoin('sandboxes', 'sandboxes.id', 'events.subject')
          .select(['events.time', 'sandboxes.expires_at'])
          .where('events.type', '=', 'caisson.sandbox.destroyed')
          .execute();
        return rows.map((row) => row.time - (row.expires_at ?? 0));
      };
      await new Promise((resolve) => setTimeout(resolve, first + spreadMs - Date.now()));
      const giveUp = Date.now() + 120_000;
      let found = await late();
      while (found.length < count && Date.now() < giveUp) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        found = await late();
      }
      await server.stop();
      await database.close();
      if (found.length < count) throw new Error(`only ${found.length} of ${count} leases have ended`);
      report.metric('lease.lateness_p50_ms', percentile(found, 50));
      report.metric('lease.lateness_p99_ms', percentile(found, 99));
      report.metric('lease.lateness_max_ms', Math.max(...found));
    });
  },
};
