import { CaissonError } from '@caisson/contract';

/** Foreign errors are translated where they enter, in the two adapters: what a database says when it is away, broken or full, as our errors. Everything else is a defect and passes as it is. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof CaissonError || !(error instanceof Error)) return error;
  const code = codeOf(error);
  if (isFull(code, error.message)) {
    return new CaissonError('storage_full', 'the disk of the database is full', { cause: error });
  }
  if (isAway(code, error.message)) {
    // Where it is and who we are to it stands in the log, not in an answer.
    return new CaissonError('database_unavailable', undefined, { cause: error });
  }
  return error;
}

function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function isFull(code: string, message: string): boolean {
  return code === '53100' || /database or disk is full|SQLITE_FULL|ENOSPC/.test(message);
}

/** Postgres classes 08 (connection), 57P (shutdown), 53 (resources); the system's own; the pool's and SQLite's words. */
function isAway(code: string, message: string): boolean {
  if (/^(08|57P|53)/.test(code)) return true;
  if (/^(ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/.test(code)) return true;
  return /Connection terminated|timeout exceeded when trying to connect|Query read timeout|connection timeout|Client has encountered a connection error|disk I\/O error|database is locked|unable to open database|readonly database/i.test(
    message,
  );
}

/** How often two transactions may get in each other's way before it is a defect. */
const maxTries = 4;

/** Postgres ends one of two transactions that wait for each other; it did nothing and is begun again. */
export async function retryDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const { code } = (error ?? {}) as { code?: unknown };
      if ((code !== '40P01' && code !== '40001') || tries >= maxTries) throw error;
    }
  }
}

/** Which of our unique indexes refused a row, or undefined. Both engines name the index or its columns. */
export function violatedUnique(error: unknown): 'slot' | 'name' | 'other' | undefined {
  if (!(error instanceof Error)) return undefined;
  const constraint = (error as { constraint?: string }).constraint ?? '';
  const text = `${constraint} ${error.message}`;
  if (!/unique|duplicate key/i.test(text)) return undefined;
  if (/sandboxes_slot|sandboxes\.slot/.test(text)) return 'slot';
  return /sandboxes_name|sandboxes\.name/.test(text) ? 'name' : 'other';
}
