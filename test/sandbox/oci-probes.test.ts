import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HostClient } from '@caisson/guest';
import { expect, test } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { OciDriver } from '../../packages/server/src/drivers/oci/oci-driver.ts';
import { whyNoRuntime } from '../conformance/oci-world.ts';
import { skip } from '../conformance/skips.ts';

const never = new AbortController().signal;

test('runtimes that are tried by several at once are found by each of them', async (context) => {
  const why = whyNoRuntime('crun');
  if (why !== undefined) skip(context, why);
  const folder = mkdtempSync(join(tmpdir(), 'csn-'));
  const guestProgram = buildGuest({ quiet: true });
  const host = new HostClient(guestProgram);
  const driver = new OciDriver({ root: join(folder, 'run'), guestProgram, host });
  try {
    const probes = await Promise.all(Array.from({ length: 4 }, () => driver.probe(never)));
    expect(probes.map(({ usable }) => usable)).toEqual([true, true, true, true]);
  } finally {
    await driver.close();
    await host.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
