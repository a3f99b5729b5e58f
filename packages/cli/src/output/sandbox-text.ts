import {
  type AttemptSummary,
  isTransient,
  profileRef,
  type Sandbox,
  type SandboxRoute,
  type SandboxState,
} from '@caisson/contract';
import { routeText } from './route-text.ts';
import type { Screen, Tone } from './screen.ts';
import { type Cell, pairs, table } from './table.ts';
import { relativeTime } from './time.ts';

export function stateTone(state: SandboxState): Tone {
  if (state === 'ready') return 'good';
  if (state === 'failed') return 'bad';
  return isTransient(state) || state === 'requested' ? 'busy' : 'faint';
}

export function sandboxTable(screen: Screen, sandboxes: readonly Sandbox[]): string {
  return table(
    ['ID', 'NAME', 'STATE', 'PROFILE', 'DRIVER', 'CREATED', 'EXPIRES'],
    sandboxes.map((sandbox) => [
      sandbox.id,
      sandbox.name ?? '-',
      stateCell(screen, sandbox.state),
      sandbox.profile === null ? '-' : profileRef(sandbox.profile),
      sandbox.driver ?? '-',
      relativeTime(sandbox.createdAt),
      relativeTime(sandbox.expiresAt) || '-',
    ]),
  );
}

export function sandboxText(screen: Screen, sandbox: Sandbox, route?: SandboxRoute): string {
  const { owner, reason } = sandbox;
  const entries: [string, string | Cell][] = [
    ['id', sandbox.id],
    ['name', sandbox.name ?? '-'],
    ['state', stateCell(screen, sandbox.state)],
  ];
  if (sandbox.action !== null) entries.push(['action', sandbox.action]);
  if (reason !== null) entries.push(['reason', `${reason.code}: ${reason.message}`]);
  entries.push(
    ['owner', [owner.tenant, owner.project, owner.principal, owner.scope].filter(Boolean).join(' / ')],
    ['profile', sandbox.profile === null ? '-' : profileRef(sandbox.profile)],
    ['driver', sandbox.driver ?? '-'],
    ['host', sandbox.host ?? '-'],
    ...(route ? [['route', routeText(route)] as [string, string]] : []),
    ['incarnation', String(sandbox.incarnation)],
    ['persistence', sandbox.persistence],
    ['blueprint', sandbox.blueprintDigest],
    ['created', timeText(sandbox.createdAt)],
    ['ready', timeText(sandbox.readyAt)],
    ['expires', timeText(sandbox.expiresAt)],
  );
  const byItself = policyText(sandbox);
  if (byItself !== '') entries.push(['by itself', byItself]);
  for (const [key, value] of Object.entries(sandbox.labels)) entries.push(['label', `${key}=${value}`]);
  for (const notice of sandbox.notices) entries.push(['notice', notice]);
  return pairs(entries);
}

/** What happens without anybody asking for it. */
function policyText({ policy, lease }: Sandbox): string {
  const { autoPauseSeconds, autoResume, perTool } = policy;
  const hasLease = lease.ttlSeconds !== null || lease.idleSeconds !== null;
  return [
    hasLease ? `${lease.atExpiry} at the end of its lease` : '',
    lease.idleSeconds === null ? '' : `which ends too after ${lease.idleSeconds} s without use`,
    autoPauseSeconds === null ? '' : `paused after ${autoPauseSeconds} s without use`,
    autoResume ? 'resumed by use' : '',
    perTool ? 'a snapshot after each tool' : '',
  ]
    .filter(Boolean)
    .join(', ');
}

export function attemptTable(attempts: readonly AttemptSummary[]): string {
  return table(
    ['ATTEMPT', 'ACTION', 'STATE', 'DRIVER', 'STARTED', 'REASON'],
    attempts.map((attempt) => [
      attempt.id,
      attempt.action,
      attempt.state,
      attempt.driver ?? '-',
      relativeTime(attempt.startedAt),
      attempt.reason === null ? '' : `${attempt.reason.code}: ${attempt.reason.message}`,
    ]),
  );
}

function stateCell(screen: Screen, state: SandboxState): Cell {
  return { text: state, paint: (text) => screen.paint(text, stateTone(state)) };
}

function timeText(iso: string | null): string {
  return iso === null ? '-' : `${iso} (${relativeTime(iso)})`;
}
