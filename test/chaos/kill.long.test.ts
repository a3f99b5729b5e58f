import { afterAll } from 'vitest';
import { type Postgres, startPostgres } from '../postgres.ts';
import { describeKills } from './describe-kills.ts';

let postgres: Postgres | undefined;
afterAll(async () => postgres?.close());

describeKills('SQLite', 200, async () => undefined);
describeKills('Postgres', 200, async () => {
  postgres = await startPostgres();
  return postgres.database();
});
