import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { type ActionName, actionNames } from '../lifecycle/actions.ts';
import { reasonSchema } from '../lifecycle/reasons.ts';
import { type SandboxState, sandboxStates } from '../lifecycle/states.ts';
import type { Standing } from '../lifecycle/transition.ts';
import { networkRulesSchema } from '../network/policy.ts';
import { ownerSchema } from '../owner.ts';
import { leaseEnds } from '../profile/profile.ts';
import { backendSchema } from '../routing/route-decision.ts';
import { repairSchema } from './repair.ts';

/**
 * Events in the shape of CloudEvents 1.0.
 *
 * Laws
 * - Append-only. No state without an event, no event without a state: both are written in one transaction.
 * - `sequence` rises by one within a subject and never repeats; replaying a sandbox's events gives its state.
 * - A sandbox whose record was lost and made again begins with `caisson.sandbox.ready` or `.paused`, from no state.
 * - A member of a warm pool is ready when it is claimed: `caisson.sandbox.claimed` is the first event of its owner's log.
 * - `caisson.sandbox.<state>` tells that the sandbox arrived in that state.
 * - Extension attributes are lower-case letters only, as CloudEvents asks.
 */
const stateSchema = z.enum(sandboxStates);
const actionSchema = z.enum(actionNames as [ActionName, ...ActionName[]]);

const stateChangeSchema = z.strictObject({
  from: stateSchema.nullable().describe('null in the first event of a sandbox'),
  to: stateSchema,
  action: actionSchema.nullable().describe('the action that runs from here on; null in a stable state'),
  cause: actionSchema.nullable().describe('the action whose step this is'),
  incarnation: z.int().min(1),
  owner: ownerSchema,
  reason: reasonSchema.nullable(),
  snapshot: idSchema('snapshot').optional().describe('the one that a rollback leads to'),
});

export type StateChange = z.infer<typeof stateChangeSchema>;

const hostRepairSchema = repairSchema.extend({
  name: z.string().max(256).describe('what it was about, as a sandbox or as the backend calls it'),
  driver: z.string().nullable().describe('the backend that had it; null where it lay on the host'),
});

const progressSchema = z.strictObject({ line: z.string().max(500).describe('what a long step is doing') });
const leaseSchema = z.strictObject({ expiresAt: z.iso.datetime().nullable() });
const expiringSchema = z.strictObject({
  expiresAt: z.iso.datetime(),
  atExpiry: z.enum(leaseEnds).describe('what becomes of it then, unless its lease is extended'),
});
const snapshotSchema = z.strictObject({
  snapshot: idSchema('snapshot'),
  kind: z.enum(['turn', 'tool', 'named']),
  name: z.string().nullable(),
  parent: idSchema('snapshot').nullable(),
});
const claimedSchema = z.strictObject({
  pool: z.string().describe('the profile of the warm pool that it was a member of'),
  owner: ownerSchema.describe('whose it is from here on'),
});
const reroutedSchema = z.strictObject({
  from: backendSchema,
  to: backendSchema,
  reason: reasonSchema.describe('why the first could not launch it'),
});
const selfCheckSchema = z.strictObject({
  ok: z.boolean(),
  launchMs: z.number().min(0).describe('from asking the driver to a guest that answers'),
  checks: z.array(
    z.strictObject({
      name: z.enum(['guest', 'workspace', 'disk', 'network', 'clock']),
      ok: z.boolean().nullable().describe('null where it cannot be told'),
      ms: z.number().min(0),
      detail: z.string().max(500),
    }),
  ),
});
export type SelfCheck = z.infer<typeof selfCheckSchema>;

const networkChangedSchema = z.strictObject({
  revision: z.int().min(1),
  ...networkRulesSchema.pick({ mode: true, allow: true, deny: true }).shape,
  by: z.string().describe('the principal who changed them'),
});
const secretUsedSchema = z.strictObject({
  secret: z.string().describe('its name'),
  host: z.string().describe('where it went; `*` for several'),
  count: z.int().min(1).describe('how often, since the last such event; there is at most one a minute'),
});
const webhookTestedSchema = z.strictObject({ webhook: idSchema('webhook') });
const quotaRepairSchema = z.strictObject({
  project: z.string().nullable(),
  found: z.string().max(1024).describe('what was counted, and what there is'),
});
const creditsLowSchema = z.strictObject({
  heldMicros: z.int().min(0).describe('what is left for it'),
  perHourMicros: z.int().min(0),
});
const labelsChangedSchema = z.strictObject({ labels: z.record(z.string(), z.string()) });

/** Every type of event with the shape of its data. State events come from the list of states. */
export const eventTypes = {
  ...(Object.fromEntries(sandboxStates.map((state) => [`caisson.sandbox.${state}`, stateChangeSchema])) as Record<
    `caisson.sandbox.${SandboxState}`,
    typeof stateChangeSchema
  >),
  'caisson.sandbox.repair': repairSchema.describe('the reconciler put something of it right'),
  'caisson.host.repair': hostRepairSchema.describe('the same for what belongs to no sandbox on record'),
  'caisson.sandbox.progress': progressSchema,
  'caisson.sandbox.claimed': claimedSchema.describe('a member of a warm pool has its owner now'),
  'caisson.sandbox.rerouted': reroutedSchema.describe('one backend could not launch it, the next one tries'),
  'caisson.sandbox.checked': selfCheckSchema.describe('what it found when it looked at itself'),
  'caisson.sandbox.lease': leaseSchema.describe('its lease ends at another time, or has ended and left it as it is'),
  'caisson.sandbox.expiring': expiringSchema.describe('its lease ends soon; once for each end'),
  'caisson.sandbox.labels': labelsChangedSchema,
  'caisson.sandbox.network': networkChangedSchema.describe('its network has other rules'),
  'caisson.sandbox.secret-used': secretUsedSchema.describe('a secret was put into requests on their way out'),
  'caisson.sandbox.credits-low': creditsLowSchema.describe('no credits are left beyond what is held for it'),
  'caisson.tenant.quota-repair': quotaRepairSchema.describe('what a quota counted was not what there is'),
  'caisson.sandbox.snapshot': snapshotSchema.describe('it has another snapshot'),
  'caisson.sandbox.snapshot-removed': snapshotSchema.describe('it has one snapshot less'),
  'caisson.webhook.test': webhookTestedSchema.describe('sent when a webhook is tested; it is not in the log'),
} as const;

export type EventType = keyof typeof eventTypes;

export const eventSchema = z.object({
  specversion: z.literal('1.0'),
  id: idSchema('event'),
  source: z.string().describe('`/caisson/<installation>`'),
  type: z.enum(Object.keys(eventTypes) as [EventType, ...EventType[]]),
  subject: z.string().describe('the id of what it is about'),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
  sequence: z.int().min(1).describe('position among the events of its subject'),
  position: z.int().min(1).describe('position in the log; what `Last-Event-ID` resumes after'),
  tenant: z.string(),
  project: z.string(),
  data: z.record(z.string(), z.unknown()),
});

export type CaissonEvent = z.infer<typeof eventSchema>;

export function stateEventType(state: SandboxState): EventType {
  return `caisson.sandbox.${state}`;
}

/** The standing that a sandbox's events add up to, oldest first. Throws where the log contradicts itself. */
export function replay(events: readonly Pick<CaissonEvent, 'type' | 'sequence' | 'data'>[]): Standing | null {
  let standing: Standing | null = null;
  let sequence = 0;
  for (const event of events) {
    const isClaim = event.type === 'caisson.sandbox.claimed';
    // Whoever claimed it sees it from there on; what was before is the system's.
    if (isClaim && sequence === 0) {
      standing = { state: 'ready', action: null };
      sequence = event.sequence - 1;
    }
    if (event.sequence !== sequence + 1) throw new Error(`event ${event.sequence} follows ${sequence}`);
    sequence = event.sequence;
    if (eventTypes[event.type] !== stateChangeSchema) continue;
    const change = stateChangeSchema.parse(event.data);
    if (change.from !== (standing?.state ?? null)) {
      throw new Error(`event ${sequence} leaves ${change.from}, but the sandbox was ${standing?.state ?? 'not there'}`);
    }
    if (event.type !== stateEventType(change.to)) throw new Error(`event ${sequence} is ${event.type} to ${change.to}`);
    standing = { state: change.to, action: change.action };
  }
  return standing;
}
