import type { ReasonCode } from '@caisson/contract';
import type { Inspection } from '../driver.ts';
import type { Container } from './engine-answers.ts';

/** What an engine says of a container, as an inspection. One whose making was cut short is of no use, though it runs. */
export function howItStands(state: Container['State'], isCutShort: boolean): Inspection {
  const { Running, Paused, Status } = state;
  if (Status === 'created' || (Running && isCutShort))
    return { status: 'ended', reason: 'interrupted', message: 'its creation was cut short' };
  if (Running || Paused) return { status: Paused ? 'paused' : 'running' };
  return { status: 'ended', ...whyEnded(state) };
}

/** Why a container does not run any more, as far as the engine knows. */
function whyEnded({ OOMKilled, ExitCode, Error: words }: Container['State']): {
  reason: ReasonCode;
  message: string;
} {
  if (OOMKilled && ExitCode === 137)
    return { reason: 'out_of_memory', message: 'the kernel ended it because its memory was used up' };
  const detail = words ? `: ${words.slice(0, 300)}` : '';
  return { reason: 'guest_gone', message: `its guest ended, and every process with it${detail}` };
}
