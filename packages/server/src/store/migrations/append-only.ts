import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Engine } from '../database.ts';

/** The database itself refuses to change a row or, where `kept` holds (always when it is absent), to remove one. */
export async function refuseChanges(
  db: Kysely<unknown>,
  engine: Engine,
  table: string,
  kept: RawBuilder<unknown> = sql`true`,
): Promise<void> {
  const [changed, removed] = [sql.ref(`${table}_unchanged`), sql.ref(`${table}_kept`)];
  const on = sql.ref(table);
  const why = sql.lit(`${table} is append-only`);
  if (engine === 'sqlite') {
    await sql`create trigger ${changed} before update on ${on} begin select raise(abort, ${why}); end`.execute(db);
    await sql`create trigger ${removed} before delete on ${on} when ${kept} begin select raise(abort, ${why}); end`.execute(
      db,
    );
    return;
  }
  await sql`create or replace function refuse_change() returns trigger language plpgsql as
    $body$ begin raise exception '% is append-only', tg_table_name; end $body$`.execute(db);
  await sql`create or replace function ${removed}() returns trigger language plpgsql as
    $body$ begin if ${kept} then raise exception '% is append-only', tg_table_name; end if; return old; end $body$`.execute(
    db,
  );
  await sql`create trigger ${changed} before update on ${on} for each row execute function refuse_change()`.execute(db);
  await sql`create trigger ${removed} before delete on ${on} for each row execute function ${removed}()`.execute(db);
  await sql`create trigger ${sql.ref(`${table}_whole`)} before truncate on ${on} execute function refuse_change()`.execute(
    db,
  );
}
