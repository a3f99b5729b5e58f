import { join } from 'node:path';
import { type Database, migrate, openPostgres, openSqlite } from '@caisson/server';
import autocannon from 'autocannon';
import { postgresBin, startPostgres } from '../test/postgres.ts';
import { startServerProcess } from '../test/server-process.ts';
import { type Benchmark, median, type Report } from './report.ts';
import { seedSandboxes } from './seed.ts';
import { inTemporaryFolder } from './temporary.ts';

/** The API under load from this process; the server runs in another. */
export const apiBenchmark: Benchmark = {
  name: 'api',
  async run(report) {
    await inTemporaryFolder((folder) => measureGet(report, folder));
  },
};

async function measureGet(report: Report, folder: string): Promise<void> {
  const server = await startServerProcess(folder);
  const post = async (path: string, body: object, headers = {}) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { id: string; secret: string };
  };
  const { secret } = await post('/v1/keys', { name: 'bench', scope: 'use' });
  const headers = { authorization: `Bearer ${secret}` };
  const { id } = await post('/v1/sandboxes', {}, headers);
  const load = { url: `${server.url}/v1/sandboxes/${id}`, connections: 50, headers };
  await autocannon({ ...load, duration: 2 });
  const result = await autocannon({ ...load, duration: 8 });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals and ${result.errors} errors`);
  report.metric('api.get_per_s', result.requests.average);
  report.metric('api.get_p99_ms', result.latency.p99);
  await server.stop();
}

/** A page of 50 out of 100,000 through HTTP, one request at a time; the slower one of the first and the last page. */
export const listBenchmark: Benchmark = {
  name: 'list',
  async run(report) {
    await inTemporaryFolder(async (folder) => {
      await measureList(report, 'list.sqlite_ms', folder, await openSqlite(join(folder, 'caisson.db')));
    });
    if (postgresBin() === undefined)
      return console.error('bench: list.postgres_ms is left out: Postgres is not installed');
    const postgres = await startPostgres({ durable: true });
    const url = postgres.database();
    await inTemporaryFolder(async (folder) =>
      measureList(report, 'list.postgres_ms', folder, await openPostgres(url), url),
    );
    await postgres.close();
  },
};

async function measureList(
  report: Report,
  metric: string,
  folder: string,
  database: Database,
  databaseUrl?: string,
): Promise<void> {
  await migrate(database);
  await seedSandboxes(database, 100_000);
  const last = await database.db
    .selectFrom('sandboxes')
    .select('id')
    .orderBy('id')
    .offset(50)
    .limit(1)
    .executeTakeFirst();
  await database.close();
  const server = await startServerProcess(folder, { databaseUrl });
  const time = async (query: string) => {
    const times: number[] = [];
    for (let n = 0; n < 120; n += 1) {
      const began = performance.now();
      const page = (await (await fetch(`${server.url}/v1/sandboxes?limit=50${query}`)).json()) as { items: unknown[] };
      if (page.items.length !== 50) throw new Error(`a page of ${page.items.length}`);
      if (n >= 20) times.push(performance.now() - began);
    }
    return median(times);
  };
  report.metric(metric, Math.max(await time(''), await time(`&after=${last?.id}`)));
  await server.stop();
}
