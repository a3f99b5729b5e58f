import { type Build, CaissonError, type ErrorCode, isErrorCode, type Reason, type Sandbox } from '@caisson/contract';
import type { Caisson, SandboxHandle } from '@caisson/sdk';
import { stepText } from './output/event-text.ts';

/**
 * How long the server is asked to wait by itself. Most actions end within it, with their error if they fail; of those
 * that take longer the events are followed, which tell what goes on.
 */
export const firstWaitSeconds = 1;

/** Waits for the end of what runs on a sandbox, no longer than `seconds`, and tells each state on the way. */
export async function settle(sandbox: SandboxHandle, seconds: number, say: (step: string) => void): Promise<void> {
  say(`${sandbox.id} ${sandbox.state}`);
  let step: string = sandbox.state;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.max(0, seconds) * 1000);
  try {
    await sandbox.untilSettled({
      signal: late.signal,
      onEvent: (event) => {
        // What is being done is told under the state that it is a part of.
        if (event.type === 'caisson.sandbox.progress') return say(`${step}: ${stepText(event)}`);
        step = stepText(event);
        say(`${sandbox.id} ${step}`);
      },
    });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    await sandbox.refresh();
  } finally {
    clearTimeout(timer);
  }
}

/** Reasons whose error has another name. */
const codeOf: Partial<Record<Reason['code'], ErrorCode>> = {
  instance_gone: 'instance_lost',
  guest_gone: 'guest_failed',
  cancelled: 'action_cancelled',
  disk_full: 'disk_quota_exceeded',
  image_unavailable: 'image_not_found',
};

/** The error that a failed sandbox stands for, when nobody waited for the answer that had it. Its build tells more. */
export async function failureOf(caisson: Caisson, sandbox: Sandbox): Promise<CaissonError> {
  const { reason, id, state } = sandbox;
  const code = reason === null ? 'sandbox_failed' : (codeOf[reason.code] ?? reason.code);
  const build = await failedBuildOf(caisson, sandbox);
  const { code: own = code, message = reason?.message, ...told } = build?.error ?? {};
  const more = build === undefined ? { state } : { build: build.id, ...told };
  return new CaissonError(isErrorCode(own) ? own : 'sandbox_failed', message ?? `${id} is ${state}`, {
    context: { ...more, sandbox: id },
    ...(build === undefined ? {} : { hint: `\`caisson build logs ${build.id}\` has all of it.` }),
  });
}

/** The failure itself is what is to be told: where the build cannot be looked up, that is all. */
async function failedBuildOf(caisson: Caisson, { id, attempt }: Sandbox): Promise<Build | undefined> {
  if (attempt === null) return undefined;
  try {
    const { build } = await caisson.sandboxes.attempt(id, attempt);
    const found = build === null ? undefined : await caisson.builds.get(build);
    const isOver = found?.state === 'failed' || found?.state === 'cancelled';
    return isOver && found.error !== null ? found : undefined;
  } catch {
    return undefined;
  }
}
