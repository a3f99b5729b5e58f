import { CaissonError } from '@caisson/contract';

/** An error of this machine's files as one of the table; ours pass as they are. */
export function localFailure(error: unknown, doing: 'read' | 'write', path: string): CaissonError {
  if (error instanceof CaissonError) return error;
  const why = error instanceof Error ? error.message.replace(/^E[A-Z]+: /, '') : String(error);
  return new CaissonError('request_invalid', `cannot ${doing} ${path}: ${why}`, {
    cause: error,
    hint: 'Check the path, its permissions and the room on the disk.',
  });
}
