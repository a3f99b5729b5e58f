import { CaissonError, type ErrorCode } from '@caisson/contract';
import type { Endpoint } from './endpoint.ts';
import { certificates, whyAway } from './why-away.ts';

/** What an engine says when there is no room left; some say it with a status that means something else. */
const fullForm = /no space left on device|disk quota exceeded|not enough space|\bENOSPC\b/i;
/** What one that wants TLS says to whoever speaks without. */
const secureForm = /HTTP request to an HTTPS server/i;

/** Whether somebody on the engine's side had no room left on their disk. */
export function saysFull(words: string): boolean {
  return fullForm.test(words);
}

/** An engine's refusal in our words. Its own go into the context, the end of them only. */
export function refusal(where: string, status: number, words: string): CaissonError {
  const said = words.replace(/\s+/g, ' ').trim().slice(-500) || `it answered ${status}`;
  const context = { engine: where, status, words: said };
  if (secureForm.test(words)) {
    const why = `the engine at ${where} wants TLS, and this server has no certificates for it`;
    return new CaissonError('driver_unavailable', why, { context, hint: certificates });
  }
  // An engine explains itself in JSON, or in a line; whatever shows pages is something else.
  if (/^\s*</.test(words)) return foreign(where, 'what was asked', `a page, with the status ${status}`);
  const code: ErrorCode = saysFull(words) || status === 507 ? 'storage_full' : 'driver_failed';
  return new CaissonError(code, `the engine refused: ${said}`, {
    context,
    ...(code === 'storage_full' ? { hint: room } : {}),
  });
}

const room =
  'Make room on the disk of the engine: remove images, containers and volumes that nobody needs, or enlarge it.';

/** What came in place of an answer: an engine that is not there, that hangs, or that ended in the middle. */
export function unanswered(endpoint: Endpoint, error: unknown, lateMs: number | undefined): CaissonError {
  if (lateMs === undefined && error instanceof CaissonError) return error;
  const { why, fix } = whyAway(endpoint, error, lateMs);
  const code: ErrorCode = lateMs === undefined ? 'driver_unavailable' : 'driver_timeout';
  return new CaissonError(code, why, { hint: fix, cause: error });
}

/** An answer that is none of an engine: of something else, or of a version that speaks otherwise. */
export function foreign(where: string, call: string, problem: string): CaissonError {
  return new CaissonError(
    'driver_failed',
    `what answers at ${where} is no engine that is known here: ${call} gave ${problem}`,
    {
      context: { engine: where, call },
      hint: 'Check the address; it must be the API of Docker (20.10 or later) or Podman (4 or later).',
    },
  );
}
