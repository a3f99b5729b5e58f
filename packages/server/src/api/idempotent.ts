import { CaissonError, hasCode, type RouteName, toProblem } from '@caisson/contract';
import type { IdempotentRequest } from '../store/idempotency.ts';
import { requestHash } from '../store/request-hash.ts';
import { type Caller, callerName } from '../tenancy/caller.ts';
import type { Answer, ApiContext } from './handler.ts';

/** Long enough for a UUID with a prefix, short enough to be stored by the million. */
const keyPattern = /^[\x21-\x7e]{1,200}$/;

export function idempotentRequest(
  name: RouteName,
  caller: Caller,
  key: string,
  params: unknown,
  body: unknown,
): IdempotentRequest {
  if (!keyPattern.test(key)) {
    throw new CaissonError(
      'request_invalid',
      'the Idempotency-Key must be 1 to 200 printable characters without spaces',
    );
  }
  const asked = { name, params: params ?? null, body: body ?? null };
  return { caller: callerName(caller), key, requestHash: requestHash(asked) };
}

/**
 * Runs a request at most once for its key. The key is written in the same transaction as what the request changes; a
 * repetition finds it there and gets the first answer, or waits for the work that the first one began.
 */
export async function runOnce(
  context: ApiContext,
  request: IdempotentRequest,
  once: { readonly waitSeconds: number; readonly successStatus: number },
  run: () => Promise<Answer>,
): Promise<Answer> {
  const known = await repetition(context, request, once);
  if (known) return known;
  try {
    return await keep(context, request, await run());
  } catch (error) {
    if (hasCode(error, 'idempotency_in_progress')) {
      const other = await repetition(context, request, once);
      if (other) return other;
    }
    // Something was begun and failed: that is the answer. A refusal changed nothing and may be asked again.
    if (error instanceof CaissonError && 'sandbox' in error.context && !error.retryable && error.kind !== 'internal') {
      await keep(context, request, { status: error.status, body: toProblem(error) });
    }
    throw error;
  }
}

async function repetition(
  context: ApiContext,
  request: IdempotentRequest,
  once: { readonly waitSeconds: number; readonly successStatus: number },
): Promise<Answer | undefined> {
  const first = await context.store.idempotency.get(request.caller, request.key);
  if (!first) return undefined;
  if (first.requestHash !== request.requestHash) throw new CaissonError('idempotency_key_reused');
  if (first.answer) return first.answer;
  if (first.sandbox === null) throw new CaissonError('idempotency_in_progress');
  const { sandbox, settled } = await context.sandboxes.settled(first.sandbox, once.waitSeconds);
  if (!settled) return { status: 202, body: sandbox, final: false };
  // The first request ended with its server before it could answer; the record knows how it went.
  if (sandbox.state === 'failed') {
    throw new CaissonError('sandbox_failed', sandbox.reason?.message, {
      context: { sandbox: sandbox.id, reason: sandbox.reason },
    });
  }
  return keep(context, request, { status: once.successStatus, body: sandbox });
}

async function keep(context: ApiContext, request: IdempotentRequest, answer: Answer): Promise<Answer> {
  if (answer.final !== false) await context.store.idempotency.answer(request, answer.status, answer.body);
  return answer;
}
