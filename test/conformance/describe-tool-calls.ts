import type { ToolAnswer } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../packages/server/src/store/store.ts';
import { makeDestroyed, makeReady, outcomes } from './store-fixtures.ts';

const answer: ToolAnswer = {
  tool: 'bash',
  callId: 'c',
  tier: 2,
  content: [{ type: 'text', text: 'héllo\n' }],
  exitCode: 0,
  error: null,
  timedOut: false,
  truncated: false,
  durationMs: 1.5,
  snapshot: null,
  notices: [],
};

/** The laws of tool calls, on whichever store. */
export function describeToolCalls(open: () => Store): void {
  describe('tool calls', () => {
    test('a call is begun once, by one of many, and its answer is kept as it is', async () => {
      const { toolCalls } = open();
      const sandbox = await makeReady(open());
      const begun = Array.from({ length: 5 }, () => toolCalls.begin(sandbox, 'c', 'hash'));
      expect(await outcomes(begun)).toEqual({ ok: 1, tool_interrupted: 4 });
      expect(await toolCalls.get(sandbox.id, 'c')).toEqual({ requestHash: 'hash', answer: null });
      await toolCalls.answer(sandbox.id, 'c', answer);
      expect(await toolCalls.get(sandbox.id, 'c')).toEqual({ requestHash: 'hash', answer });
      await toolCalls.forget(sandbox.id, 'c');
      expect(await toolCalls.get(sandbox.id, 'c')).toBeUndefined();
    });

    test('calls go with their sandbox, and with a day', async () => {
      const { toolCalls } = open();
      const [gone, kept] = [await makeReady(open()), await makeReady(open())];
      for (const sandbox of [gone, kept]) await toolCalls.begin(sandbox, 'c', 'hash');
      await makeDestroyed(open(), gone);
      expect(await toolCalls.get(gone.id, 'c')).toBeUndefined();
      await toolCalls.prune(Date.now() + 23 * 3_600_000);
      expect(await toolCalls.get(kept.id, 'c')).toBeDefined();
      await toolCalls.prune(Date.now() + 25 * 3_600_000);
      expect(await toolCalls.get(kept.id, 'c')).toBeUndefined();
    });

    test('a sandbox keeps the newest thousand or so, and never loses one that runs', async () => {
      const { toolCalls } = open();
      const sandbox = await makeReady(open());
      await toolCalls.begin(sandbox, 'running', 'hash');
      for (let n = 0; n < 1_150; n += 1) {
        await toolCalls.begin(sandbox, `c${n}`, 'hash');
        await toolCalls.answer(sandbox.id, `c${n}`, answer);
      }
      expect(await toolCalls.get(sandbox.id, 'c0')).toBeUndefined();
      expect(await toolCalls.get(sandbox.id, 'c1149')).toBeDefined();
      expect(await toolCalls.get(sandbox.id, 'running')).toBeDefined();
    }, 120_000);
  });
}
