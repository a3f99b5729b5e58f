import { CaissonError, type ErrorCode } from '@caisson/contract';

/** What an engine says when there is no room left; some say it with a status that means something else. */
const fullForm = /no space left on device|disk quota exceeded|not enough space/i;

/** An engine's refusal in our words. Its own go into the context, the end of them only. */
export function refusal(where: string, status: number, words: string): CaissonError {
  const said = words.replace(/\s+/g, ' ').trim().slice(-500) || `it answered ${status}`;
  const code: ErrorCode = fullForm.test(words) || status === 507 ? 'storage_full' : 'driver_failed';
  return new CaissonError(code, `the engine refused: ${said}`, { context: { engine: where, status, words: said } });
}

/** What came in place of an answer: an engine that is not there, that hangs, or that ended in the middle. */
export function unanswered(where: string, error: unknown, isLate: boolean): CaissonError {
  if (isLate) {
    const context = { engine: where };
    return new CaissonError('driver_timeout', 'the engine did not answer in time', { context, cause: error });
  }
  if (error instanceof CaissonError) return error;
  const { message } = error as Error;
  return new CaissonError('driver_unavailable', `the engine at ${where} does not answer: ${message.slice(0, 300)}`, {
    context: { engine: where },
    hint: 'Start it, or correct the address: `--docker-host`, `--podman-host` or DOCKER_HOST.',
    cause: error,
  });
}
