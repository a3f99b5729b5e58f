import { execFile } from 'node:child_process';
import { CaissonError } from '@caisson/contract';

/** More than the last words of a program are of no use in an error. */
const lastWords = 2_000;
/** Copying a large tree is the longest of what storage runs. */
const timeoutMs = 600_000;

/** Runs a program of the host to its end. What it says when it fails becomes the context of our error. */
export function hostCommand(program: string, args: readonly string[], signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      signal,
      timeout: timeoutMs,
      maxBuffer: 1_048_576,
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
    };
    execFile(program, [...args], options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      if (signal?.aborted) return reject(signal.reason);
      reject(failure(program, `${stderr}${stdout}`.slice(-lastWords).trim() || error.message, error));
    });
  });
}

function failure(program: string, words: string, cause: Error): CaissonError {
  const code = /No space left on device/.test(words) ? 'storage_full' : 'storage_failed';
  return new CaissonError(code, `${program}: ${words.split('\n').at(-1)}`, { context: { program, words }, cause });
}
