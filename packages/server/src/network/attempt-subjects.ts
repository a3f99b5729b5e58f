import { type Id, networkRulesOf, type WorkspaceBlueprint } from '@caisson/contract';
import type { Store } from '../store/store.ts';
import type { EgressSubject, EgressSubjects } from './egress.ts';

/** The rules of a sandbox as the blueprint of its newest attempt has them. */
export class AttemptSubjects implements EgressSubjects {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async find(id: Id<'sandbox'>): Promise<EgressSubject | undefined> {
    const sandbox = await this.#store.sandboxes.get(id);
    const attempt = sandbox?.attempt ? await this.#store.attempts.get(sandbox.attempt) : undefined;
    if (!sandbox || !attempt) return undefined;
    // It was normalized when the attempt was recorded.
    const { runtime } = attempt.blueprint as WorkspaceBlueprint;
    return { sandbox: id, owner: sandbox.owner, rules: networkRulesOf(runtime.network) };
  }
}
