import { Agent } from 'node:https';
import { Trust } from './network/proxy/trust.ts';
import { readRoots } from './open-egress.ts';

/** An authority that this server trusts besides the machine's, in the forms in which its parts take it. */
export interface ExtraTrust {
  readonly roots: readonly string[];
  /** As PEM, for those who trust it inside of builds. */
  readonly authority: string | undefined;
  /** For requests of the server itself; undefined where there is nothing to add. */
  readonly agent: Agent | undefined;
}

export function openExtraTrust(file: string | undefined): ExtraTrust {
  const roots = readRoots('--extra-ca', file);
  if (roots.length === 0) return { roots, authority: undefined, agent: undefined };
  // Read now: a certificate that cannot be read is told at the start.
  const secureContext = new Trust(roots).context();
  return { roots, authority: roots.join('\n'), agent: new Agent({ keepAlive: true, secureContext }) };
}
