import { newId, type Sandbox } from '@caisson/contract';
import type { Driver } from '../../drivers/driver.ts';
import { keyOf } from '../end.ts';

/** A shell and a program of its own: what the first command of almost everybody needs. */
const command = ['/bin/sh', '-c', '/bin/true'];
const withinMs = 2_000;

/**
 * Runs a command that does nothing, so that the kernel has found the shell and its libraries before somebody waits for
 * them. Nothing of it is left; where it cannot be run, the first command is slower, and that is all.
 */
export async function warmUp(driver: Driver, member: Sandbox): Promise<void> {
  const signal = AbortSignal.timeout(withinMs);
  try {
    const guest = await driver.guest?.(keyOf(member), signal);
    const process = await guest?.processes.spawn({ id: newId('process'), argv: command, timeoutMs: withinMs, signal });
    if (!process) return;
    await process.wait(signal).finally(() => process.detach());
    await process.forget();
  } catch {
    // It may have been claimed, and destroyed, meanwhile.
  }
}
