import { z } from 'zod';

/** Why a sandbox is in the state it is in. A closed list, so that clients can branch on it; the message is for people. */
export const reasonCodes = {
  requested: 'somebody asked for it',
  expired: 'its lease ended',
  idle: 'nobody used it for longer than it may idle',
  driver_failed: 'its driver reported a failure',
  driver_timeout: 'its driver did not finish in time',
  driver_unavailable: 'its driver cannot be used on this machine',
  image_unavailable: 'its image cannot be had, or is not for this machine',
  build_failed: 'its image could not be built',
  source_failed: 'files that its spec names could not be brought',
  startup_failed: 'one of its startup steps failed',
  no_route: 'no backend could serve it',
  instance_gone: 'its instance vanished from the backend',
  guest_gone: 'its guest died or cannot be reached any more',
  out_of_memory: 'it ran out of memory',
  pids_limit: 'it reached its limit of processes',
  disk_full: 'it filled the disk that it may have',
  storage_failed: 'its storage reported a failure',
  internal: 'a defect of Caisson stopped the action; the log has the rest',
  interrupted: 'the server ended in the middle of the action',
  cancelled: 'another action took its place',
  superseded: 'a newer incarnation took its place',
  credits_exhausted: 'its tenant has no credits left for it',
  orphaned: 'its instance had no owner',
} as const;

export type ReasonCode = keyof typeof reasonCodes;

export const reasonSchema = z.strictObject({
  code: z.enum(Object.keys(reasonCodes) as [ReasonCode, ...ReasonCode[]]),
  message: z.string().max(4096),
});

export type Reason = z.infer<typeof reasonSchema>;
