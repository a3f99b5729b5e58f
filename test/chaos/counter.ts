import type { Process } from '@caisson/sdk';
import { expect } from 'vitest';

/** Counts from one, a line each, for as long as it lives. */
export const countingCommand = 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done';

/** How far it counted, of output that must be whole: every number once, in order. */
export function countedIn(output: string, what: string): number {
  const lines = output.split('\n').slice(0, -1);
  const wrong = lines.findIndex((line, index) => line !== String(index + 1));
  expect(wrong === -1 ? 'whole' : `line ${wrong + 1} is ${lines[wrong]}`, what).toBe('whole');
  return lines.length;
}

/** The output of a counter from its beginning, as far as it is at the first look. */
export async function countedSoFar(counter: Process, what: string): Promise<number> {
  const attachment = counter.attach();
  let output = '';
  for await (const { bytes } of attachment) {
    output += Buffer.from(bytes);
    if (output.endsWith('\n')) break;
  }
  attachment.close();
  expect(attachment.lost, what).toBe(0);
  return countedIn(output, what);
}

/** Reads a counter to its end, while servers come and go. */
export async function collectCount(counter: Process): Promise<string> {
  let output = '';
  for await (const { bytes } of counter.attach({ reconnectSeconds: 60 })) output += Buffer.from(bytes);
  return output;
}
