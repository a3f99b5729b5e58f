import type { WorkspaceBlueprint } from '@caisson/workspace-composition';
import { z } from 'zod';

/** How much may go out of one sandbox, both directions together. What is absent is not limited. */
export const networkLimitsSchema = z.strictObject({
  totalMiB: z.int().min(1).max(1_048_576_000).optional().describe('all bytes of its whole life'),
  kibPerSecond: z.int().min(1).max(104_857_600).optional().describe('bytes in any second'),
  connections: z.int().min(1).max(4096).optional().describe('connections at the same time'),
  connectionsPerSecond: z.int().min(1).max(100_000).optional().describe('new connections and requests in any second'),
});

export type NetworkLimits = z.infer<typeof networkLimitsSchema>;

const entries = z.array(z.string().max(261)).max(1000);

/**
 * What one sandbox may reach. Entries are written as in a spec (`preset:npm`, `example.com`, `*.example.com`,
 * `192.0.2.0/24`, `example.com:443`) and kept in their canonical form.
 *
 * Laws
 * - `off` is off, whatever is listed. Otherwise `deny` is stronger than `allow`, and both are stronger than the mode.
 * - In `allowlist` a name is allowed by a name alone and an address by an address or range: what is not allowed is not
 *   even looked up.
 * - No entry opens a private address: only the operator of the server can.
 */
export const networkRulesSchema = z.strictObject({
  mode: z.enum(['off', 'allowlist', 'open']),
  allow: entries,
  deny: entries,
  limits: networkLimitsSchema,
  secrets: z
    .array(z.string().min(1).max(255))
    .max(100)
    .describe('names of stored secrets that are put in on the way out'),
});

export type NetworkRules = z.infer<typeof networkRulesSchema>;

/** The rules with which a sandbox of a blueprint begins. */
export function networkRulesOf(network: WorkspaceBlueprint['runtime']['network']): NetworkRules {
  const { mode, allow, deny, limits = {}, secrets = [] } = network;
  return { mode, allow, deny, limits, secrets };
}
