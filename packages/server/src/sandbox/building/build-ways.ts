import { type NetworkRules, newId, type Owner } from '@caisson/contract';
import type { BuildWay } from '../../images/builders/buildkit/buildkit-builder.ts';
import type { EgressGates } from '../../network/proxy/egress-gates.ts';
import type { RoomSubjects } from './room-subjects.ts';

/**
 * The way out of builds whose steps are not in a sandbox of ours: each build has a gate of its own, which reads its rules
 * as those of a room and goes with it.
 */
export function buildWays(
  gates: Pick<EgressGates, 'admit' | 'forget'>,
  subjects: RoomSubjects,
): (owner: Owner, rules: NetworkRules) => BuildWay {
  return (owner, rules) => {
    const sandbox = newId('sandbox');
    subjects.enter({ sandbox, owner, rules });
    return {
      connect: (kind, stream) => gates.admit(sandbox, { kind, uid: undefined, stream, deny: () => stream.destroy() }),
      close() {
        subjects.leave(sandbox);
        gates.forget(sandbox);
      },
    };
  };
}
