import { randomBytes } from 'node:crypto';
import { CaissonError, hasCode } from '@caisson/contract';
import { insideProgram } from './container-config.ts';
import type { Containers } from './containers.ts';
import { saysFull } from './engine-error.ts';
import type { GuestLink } from './guest-link.ts';
import type { InstanceNames } from './instance-name.ts';
import type { SecretFile } from './secret-file.ts';

/** A guest answers within a tenth of a second; a machine under load takes its time. */
const answerMs = 30_000;
/** How often it is looked whether a guest that has not answered is still there: nobody tells. */
const lookMs = 250;

export interface LaunchInput {
  readonly names: InstanceNames;
  readonly containers: Containers;
  readonly secrets: SecretFile;
  /** Makes the container where there is none yet. */
  readonly make: (() => Promise<void>) | undefined;
  /** Refuses what must not be started. */
  readonly check: () => Promise<void>;
  readonly openLink: () => GuestLink;
  readonly signal: AbortSignal;
}

/** Whether an engine could not start a container because the guest program is not where it was put. */
export function lacksProgram(error: unknown): boolean {
  return (
    hasCode(error, 'driver_failed') &&
    error.message.includes(insideProgram) &&
    /no such file|not found/i.test(error.message)
  );
}

/** From a container, or none, to a guest that answers. What fails leaves the container and its secrets, to be removed. */
export async function launch(input: LaunchInput): Promise<void> {
  const { names, containers, secrets, make, signal } = input;
  const pair = { current: randomBytes(32), next: randomBytes(32) };
  secrets.write({ ...pair, ready: false });
  await make?.();
  await input.check();
  await containers.start(names.container, signal);
  // Only now: an engine may still be clearing up after the last run of a container that does not run.
  const stdin = await containers.stdin(names.container, signal);
  try {
    stdin.write(pair.current);
    const link = input.openLink();
    link.start();
    await answered(link, input);
  } finally {
    stdin.destroy();
  }
  const known = secrets.read();
  if (!known) throw new CaissonError('guest_failed', `the secrets of ${names.name} are gone`);
  secrets.write({ ...known, ready: true });
}

async function answered(link: GuestLink, { names, containers, signal }: LaunchInput): Promise<void> {
  const gone = new AbortController();
  const look = setInterval(() => {
    void containers
      .inspect(names.container, signal)
      .then((found) => (found?.State.Running ? undefined : gone.abort()))
      .catch(() => {});
  }, lookMs);
  try {
    await link.connected(AbortSignal.any([signal, gone.signal, AbortSignal.timeout(answerMs)]));
  } catch (cause) {
    signal.throwIfAborted();
    if (hasCode(cause, 'storage_full')) throw cause;
    const lines = await containers.logs(names.container, 10, signal).catch(() => []);
    const what = gone.signal.aborted ? 'ended before it answered' : `did not answer within ${answerMs / 1000} s`;
    const said = lines.at(-1) ?? link.lastFailure;
    const code = saysFull(said) ? 'storage_full' : 'guest_failed';
    throw new CaissonError(code, `the guest of ${names.name} ${what}: ${said}`, {
      context: { lines },
      cause,
    });
  } finally {
    clearInterval(look);
  }
}
