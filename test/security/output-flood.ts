import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Confined } from './sandbox-world.ts';

const mebibyte = 1024 * 1024;

/** What a process has in memory, as the host sees it. */
function residentBytes(pid: number): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1] ?? Number.NaN) * 1024;
}

/**
 * A program writes as much as it can to a reader that stands still in between. It must wait: neither the guest nor the
 * server may keep what nobody reads. Every byte arrives, in order.
 */
export async function floodSlowReader(sandbox: Confined, totalBytes: number, pauses: number): Promise<void> {
  const before = process.memoryUsage.rss();
  const argv = ['/bin/sh', '-c', `yes 0123456 | head -c ${totalBytes}`];
  const writer = await sandbox.guest.processes.spawn({ argv });
  let [read, paused] = [0, 0];
  for await (const chunk of writer.stdout) {
    expect(chunk[0]).toBe('0123456\n'.charCodeAt(read % 8));
    read += chunk.byteLength;
    if (read < ((paused + 1) * totalBytes) / (pauses + 2)) continue;
    if (paused === pauses) continue;
    paused += 1;
    await delay(300);
    expect(residentBytes(sandbox.pid)).toBeLessThan(16 * mebibyte);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * mebibyte);
    expect(await sandbox.isWell()).toBe(true);
  }
  expect([read, paused]).toEqual([totalBytes, pauses]);
  expect(await writer.wait()).toMatchObject({ code: 0 });
  expect(residentBytes(sandbox.pid)).toBeLessThan(16 * mebibyte);
}
