import { z } from 'zod';

/** What a repair is about: each kind is a line of `caisson_repairs_total` and of the runbook `repairs`. */
export const repairKinds = {
  interrupted: 'an action that nobody was at work on goes on',
  lost: 'a sandbox whose processes ended by themselves is recorded as failed, with the reason',
  frozen: 'a sandbox that should run stood still, and goes on',
  adopted: 'an instance without a record has one again',
  unowned: 'an instance that nobody owns is told, and ended after its grace time',
  unwanted: 'an instance that its record does not want is ended',
  filesystem: 'a root filesystem without a record is told, and removed after its grace time',
  snapshot: 'a snapshot that was cut short, or that no record knows, is removed',
  group: 'a control group that outlived its instance is ended',
  leftover: 'what a killed server left half-made or mounted is removed',
  credits: 'what was held for a sandbox that is gone is given back',
  quota: 'what a quota counted is what there is',
} as const;

export type RepairKind = keyof typeof repairKinds;

export const repairDeeds = ['adopted', 'repaired', 'reaped', 'reported'] as const;

export const repairSchema = z.strictObject({
  kind: z.enum(Object.keys(repairKinds) as [RepairKind, ...RepairKind[]]),
  found: z.string().max(1024).describe('the difference between record, runtime and storage'),
  did: z.enum(repairDeeds),
});

export type RepairData = z.infer<typeof repairSchema>;
