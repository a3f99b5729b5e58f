import type { Backend, CaissonEvent, Reason, SelfCheck } from '@caisson/contract';
import { printable } from './printable.ts';

/** One line for one event: when, about what, what happened, and why. */
export function eventText(event: CaissonEvent): string {
  const what = event.type.replace(/^caisson\.sandbox\./, '');
  const parts = [event.time, String(event.position).padStart(6), event.subject, what, detailOf(event)];
  return parts.map(printable).join('  ').trimEnd();
}

function detailOf({ type, data }: CaissonEvent): string {
  if (type === 'caisson.sandbox.checked') return checkedText(data as SelfCheck);
  if (type === 'caisson.sandbox.rerouted') return reroutedText(data as { from: Backend; to: Backend; reason: Reason });
  if (type === 'caisson.sandbox.expiring') return `${String(data.atExpiry)} at ${String(data.expiresAt)}`;
  if (type === 'caisson.sandbox.lease')
    return data.expiresAt === null ? 'it has ended' : `until ${String(data.expiresAt)}`;
  return detail(data);
}

/** Each check with its time; what is wrong, in words. */
function checkedText({ launchMs, checks }: SelfCheck): string {
  const found = checks.map(({ name, ok, ms, detail: words }) =>
    ok === true ? `${name} ${ms} ms` : `${name} ${ok === null ? 'unknown' : 'WRONG'} (${words})`,
  );
  return `launched in ${launchMs} ms; ${found.join(', ')}`;
}

function reroutedText({ from, to, reason }: { from: Backend; to: Backend; reason: Reason }): string {
  return `${from.driver} on ${from.host} → ${to.driver} on ${to.host}: ${reason.message}`;
}

function detail(data: CaissonEvent['data']): string {
  if (typeof data.found === 'string') return `${String(data.did)}: ${data.found}`;
  if (typeof data.reason === 'object' && data.reason !== null && 'message' in data.reason) {
    return String(data.reason.message);
  }
  if (typeof data.line === 'string') return data.line;
  if (typeof data.secret === 'string') return `${data.secret} for ${String(data.host)}, ${String(data.count)} times`;
  if (typeof data.revision === 'number')
    return `revision ${data.revision}: ${String(data.mode)}, by ${String(data.by)}`;
  if (typeof data.kind === 'string') return `${data.kind} ${String(data.name ?? data.snapshot)}`;
  if (typeof data.from === 'string') return `(was ${data.from})`;
  return 'to' in data ? '' : JSON.stringify(data);
}

/** The same for a line that says what is being done at the moment. */
export function stepText({ type, data }: Pick<CaissonEvent, 'type' | 'data'>): string {
  if (type === 'caisson.sandbox.progress' && typeof data.line === 'string') return data.line;
  return type.replace(/^caisson\.sandbox\./, '');
}
