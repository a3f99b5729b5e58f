import type { Caisson, SandboxHandle } from '@caisson/sdk';
import { printable } from './output/printable.ts';
import { withProgress } from './output/progress.ts';
import type { Screen } from './output/screen.ts';

/** Begins an action, waits for its end no longer than `wait` seconds, and shows how it goes. A failure is thrown. */
export async function followAction(
  caisson: Caisson,
  screen: Screen,
  what: string,
  wait: number,
  begin: (waitSeconds: number) => Promise<SandboxHandle>,
): Promise<SandboxHandle> {
  const { failureOf, firstWaitSeconds, settle } = await import('./settle.ts');
  const begun = Date.now();
  const sandbox = await withProgress(screen, what, async (say) => {
    const waitSeconds = Math.min(wait, firstWaitSeconds);
    const handle = await begin(waitSeconds);
    if (!handle.settled && wait > waitSeconds) await settle(handle, wait - (Date.now() - begun) / 1000, say);
    return handle;
  });
  if (sandbox.state === 'failed') throw await failureOf(caisson, sandbox.record);
  return sandbox;
}

/** The same for a new sandbox: with what it lacks, and how long it took. Its id is the result. */
export async function followMaking(
  caisson: Caisson,
  screen: Screen,
  what: string,
  wait: number,
  begin: (waitSeconds: number) => Promise<SandboxHandle>,
): Promise<void> {
  const begun = Date.now();
  const sandbox = await followAction(caisson, screen, what, wait, begin);
  if (!screen.wantsJson) {
    for (const notice of sandbox.record.notices) screen.note(`notice: ${printable(notice)}`);
    const seconds = ((Date.now() - begun) / 1000).toFixed(2);
    if (!sandbox.settled) screen.note(`still ${sandbox.state}: \`caisson get ${sandbox.id}\` tells how it goes on`);
    else if (screen.err.isTTY) screen.note(`${sandbox.state} after ${seconds} s`);
  }
  screen.result(sandbox, () => sandbox.id);
}

/** Tells the end of an action on a sandbox that was there before. Its id is the result. */
export function tellAction(screen: Screen, sandbox: SandboxHandle): void {
  if (!screen.wantsJson && (screen.err.isTTY || !sandbox.settled)) screen.note(`${sandbox.id} is ${sandbox.state}`);
  screen.result(sandbox, () => sandbox.id);
}
