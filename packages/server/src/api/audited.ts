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

/** Reading changes nothing, and leaves no line when it is allowed. What goes through a WebSocket nobody reads. */
export function isChange({ scope, method, webSocket }: Route): boolean {
  return scope !== null && scope !== 'read' && (method !== 'GET' || webSocket === true);
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
  const { tenant } = caller.owner;
  audit.did(caller, { ...deedOf(listener, name, request, answer.body, tenant), status: answer.status });
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
  const deed = { ...deedOf(listener, name, request), status: error.status, code: error.code };
  if (request.caller) audit.did(request.caller, deed);
  else audit.refused(deed);
}

function deedOf(listener: Listener, action: RouteName, request: AuditedRequest, body?: unknown, own?: string): Deed {
  const { raw, id } = request;
  const agent = raw.headers['user-agent'];
  return {
    action,
    subject: subjectOf(request.params, body, own),
    address: listener.kind === 'unix' ? 'unix' : (raw.socket.remoteAddress ?? null),
    ...(agent === undefined ? {} : { agent }),
    ...(id === undefined ? {} : { request: id }),
  };
}

/**
 * What the path names, or what the answer calls itself: `sbx…`, `sbx… 3000`, `mine`; with the tenant before it where the
 * operator acts for another one: `acme/bot`, `acme`.
 */
function subjectOf(params: unknown, body: unknown, own: string | undefined): string | null {
  const { id, name, tenant, project } = (body ?? {}) as Record<string, unknown>;
  const named = Object.values((params ?? {}) as Record<string, unknown>).map(String);
  const things = named.length > 0 ? named.join(' ') : [id, name, project].find((one) => typeof one === 'string');
  if (typeof tenant !== 'string' || (tenant === own && things !== undefined)) return (things as string) ?? null;
  return things === undefined ? tenant : `${tenant}/${things}`;
}
