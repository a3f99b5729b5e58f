import { CaissonError, type ErrorCode, isErrorCode, type Reason, type Sandbox } from '@caisson/contract';
import type { SandboxHandle } from '@caisson/sdk';
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
};

/** The error that a failed sandbox stands for, when nobody waited for the answer that had it. */
export function failureOf(sandbox: Sandbox): CaissonError {
  const { reason, id, state } = sandbox;
  const code = reason === null ? 'sandbox_failed' : (codeOf[reason.code] ?? reason.code);
  return new CaissonError(isErrorCode(code) ? code : 'sandbox_failed', reason?.message ?? `${id} is ${state}`, {
    context: { sandbox: id, state },
  });
}
