import { type Id, type NetworkRules, networkRulesOf, type Sandbox, type WorkspaceBlueprint } from '@caisson/contract';
import type { StoredRules } from '../store/sandbox-rules.ts';
import type { Store } from '../store/store.ts';
import type { EgressSubject, EgressSubjects } from './egress.ts';

/**
 * What each sandbox may reach now: the rules that somebody changed it to, else those it was made with. They belong to the
 * sandbox and not to its instance, so they hold across everything that ends one and begins another.
 */
export class SandboxRules implements EgressSubjects {
  readonly #store: Pick<Store, 'sandboxes' | 'attempts' | 'sandboxRules'>;

  constructor(store: Pick<Store, 'sandboxes' | 'attempts' | 'sandboxRules'>) {
    this.#store = store;
  }

  async find(id: Id<'sandbox'>): Promise<EgressSubject | undefined> {
    const sandbox = await this.#store.sandboxes.get(id);
    if (sandbox === undefined || sandbox.state === 'destroyed') return undefined;
    const { rules, revision } = (await this.present(sandbox)) ?? {};
    const isLate = revision !== 0 && rules?.mode !== 'off' && (await this.made(sandbox))?.mode === 'off';
    return rules && { sandbox: id, owner: sandbox.owner, rules, isLate };
  }

  /** Undefined where nobody knows: without rules nothing passes. */
  async present(sandbox: Pick<Sandbox, 'id' | 'attempt'>): Promise<StoredRules | undefined> {
    const stored = await this.#store.sandboxRules.get(sandbox.id);
    if (stored) return stored;
    const rules = await this.made(sandbox);
    return rules && { rules, revision: 0 };
  }

  /** The rules that its blueprint asks for. */
  async made({ attempt }: Pick<Sandbox, 'attempt'>): Promise<NetworkRules | undefined> {
    const blueprint = attempt === null ? undefined : (await this.#store.attempts.get(attempt))?.blueprint;
    // Checked when it was written; only that of a test has less.
    const network = (blueprint as Partial<WorkspaceBlueprint> | undefined)?.runtime?.network;
    return network && networkRulesOf(network);
  }
}
