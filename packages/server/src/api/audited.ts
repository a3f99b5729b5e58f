import type { IncomingMessage } from 'node:http';
import type { CaissonError, Route, RouteName } from '@caisson/contract';
import type { Audit, Deed } from '../audit/audit.ts';
import type { Caller } from '../tenancy/caller.ts';
import type { Listener } from './listener.ts';

/** What of a request goes into the audit log: neither its body nor its query. */
export interface AuditedRequest {
  readonly id?: string;
  readonly raw: IncomingMessage;
  readonly params?: unknown;
  readonly caller?: Caller | undefined;
}

/** Reading changes nothing, and leaves no line when it is allowed. */
export function isChange(route: Route): boolean {
  return route.scope !== null && route.scope !== 'read';
}

export function auditAnswer(
  audit: Audit,
  listener: Listener,
  name: RouteName,
  route: Route,
  request: AuditedRequest,
  caller: Caller,
  answer: { readonly status: number; readonly body?: unknown },
): void {
  if (!isChange(route)) return;
  audit.did(caller, { ...deedOf(listener, name, request, answer.body), status: answer.status });
}

/** What was refused or failed: every change, and whatever somebody was not allowed. */
export function auditProblem(
  audit: Audit,
  listener: Listener,
  name: RouteName | undefined,
  route: Route | undefined,
  request: AuditedRequest,
  error: CaissonError,
): void {
  const isRefusal = error.kind === 'unauthenticated' || error.kind === 'forbidden';
  if (!name || !route || (!isRefusal && !isChange(route))) return;
  const deed = { ...deedOf(listener, name, request, undefined), status: error.status, code: error.code };
  if (request.caller) audit.did(request.caller, deed);
  else audit.refused(deed);
}

function deedOf(listener: Listener, action: RouteName, request: AuditedRequest, body: unknown): Deed {
  const { raw, id } = request;
  const agent = raw.headers['user-agent'];
  return {
    action,
    subject: subjectOf(request.params, body),
    address: listener.kind === 'unix' ? 'unix' : (raw.socket.remoteAddress ?? null),
    ...(agent === undefined ? {} : { agent }),
    ...(id === undefined ? {} : { request: id }),
  };
}

/** What the path names, or what the answer calls itself: `sbx…`, `sbx… 3000`, `mine`. */
function subjectOf(params: unknown, body: unknown): string | null {
  const named = Object.values((params ?? {}) as Record<string, unknown>).map(String);
  if (named.length > 0) return named.join(' ');
  const { id, name } = (body ?? {}) as { id?: unknown; name?: unknown };
  if (typeof id === 'string') return id;
  return typeof name === 'string' ? name : null;
}
