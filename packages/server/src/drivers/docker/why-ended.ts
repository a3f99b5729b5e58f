import type { ReasonCode } from '@caisson/contract';
import type { Container } from './containers.ts';

/** Why a container does not run any more, as far as the engine knows. */
export function whyEnded({ OOMKilled, ExitCode, Error: words }: Container['State']): {
  reason: ReasonCode;
  message: string;
} {
  if (OOMKilled && ExitCode === 137)
    return { reason: 'out_of_memory', message: 'the kernel ended it because its memory was used up' };
  const detail = words ? `: ${words.slice(0, 300)}` : '';
  return { reason: 'guest_gone', message: `its guest ended, and every process with it${detail}` };
}
