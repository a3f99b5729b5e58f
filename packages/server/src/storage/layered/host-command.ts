import { basename } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';

/** More than the last words of a program are of no use in an error. */
const lastWords = 2_000;
/** Copying a large tree is the longest of what storage runs. */
const timeoutMs = 600_000;
const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

export interface CommandOptions {
  readonly signal?: AbortSignal | undefined;
  /** Exit codes that are no failure besides 0. */
  readonly accept?: readonly number[];
}

/** Runs a program of the host to its end. What it says when it fails becomes the context of our error. */
export async function hostCommand(
  host: HostClient,
  program: string,
  args: readonly string[],
  { signal, accept = [] }: CommandOptions = {},
): Promise<string> {
  // `env` finds the program, wherever the host keeps it.
  const { code, stdout, stderr } = await host.run(['/usr/bin/env', program, ...args], { env, timeoutMs, signal });
  const said = Buffer.from(stdout).toString();
  if (code === 0 || (code !== undefined && accept.includes(code))) return said;
  const words = `${Buffer.from(stderr).toString()}${said}`.slice(-lastWords).trim() || `it ended with ${code}`;
  throw new CaissonError(
    /No space left on device/.test(words) ? 'storage_full' : 'storage_failed',
    `${basename(program)}: ${words.split('\n').at(-1)}`,
    { context: { program: basename(program), words } },
  );
}

/**
 * Deletes a tree that a sandbox made: deeper than any path, and perhaps still changing. Node goes by paths, which end at
 * 4096 bytes and follow what has become a link; `rm` goes from folder to folder.
 */
export async function removeTree(host: HostClient, folder: string): Promise<void> {
  await hostCommand(host, 'rm', ['-rf', '--one-file-system', '--', folder]);
}
