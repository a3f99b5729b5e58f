import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { skip } from '../../../test/conformance/skips.ts';
import { describeFiles } from './describe-files.ts';
import { describePorts } from './describe-ports.ts';
import { describeProcesses } from './describe-processes.ts';
import type { GuestUnderTest } from './guest-under-test.ts';
import { type StartedGuest, type StartOptions, startGuest, whyNoGuest } from './start-guest.ts';

/** Everything a guest can do, through the client, against the real program as PID 1. Run once for each build of it. */
export function describeGuest(name: string, prepare: () => StartOptions): void {
  withGuest(name, prepare, (under) => {
    describe('processes', () => describeProcesses(under));
    describe('files', () => describeFiles(under));
    describe('ports', () => describePorts(under));
  });
}

/** A guest for the tests that `define` declares: started before them, stopped after, and its sanitizers heard. */
export function withGuest(name: string, prepare: () => StartOptions, define: (under: GuestUnderTest) => void): void {
  describe(name, () => {
    let guest: StartedGuest | undefined;
    const why = whyNoGuest();
    const under = {
      guest: () => {
        if (guest === undefined) throw new Error('the guest did not start');
        return guest;
      },
    };
    beforeAll(async () => {
      if (why === undefined) guest = await startGuest(prepare());
    }, 120_000);
    beforeEach((context) => {
      if (why !== undefined) skip(context, why);
    });
    afterAll(async () => {
      const log = guest?.log() ?? '';
      await guest?.stop();
      if (/Sanitizer|runtime error/.test(log)) throw new Error(log);
    });
    define(under);
  });
}
