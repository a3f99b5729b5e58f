import {
  CaissonError,
  type ChangeNetwork,
  type EgressRecord,
  type EgressUsage,
  type Id,
  type NetworkRules,
  type Sandbox,
  type SandboxNetwork,
} from '@caisson/contract';
import type { Journal } from '../network/journal.ts';
import type { SandboxRules } from '../network/sandbox-rules.ts';
import type { StoredRules } from '../store/sandbox-rules.ts';
import type { Store } from '../store/store.ts';
import type { Caller } from '../tenancy/caller.ts';
import { normalize } from './compose.ts';
import type { Sandboxes } from './sandboxes.ts';

export interface NetworksContext {
  readonly store: Pick<Store, 'sandboxRules'>;
  readonly sandboxes: Pick<Sandboxes, 'get' | 'own'>;
  readonly rules: SandboxRules;
  readonly journal: Journal;
  /** What holds the connections that are open. */
  readonly gates: { rulesChanged(sandbox: Id<'sandbox'>): Promise<void> };
}

export interface EgressQuery {
  readonly verdict?: EgressRecord['verdict'] | undefined;
}

/** What can be asked about the network of a sandbox. Every method takes the caller and checks the owner. */
export class Networks {
  readonly #context: NetworksContext;

  constructor(context: NetworksContext) {
    this.#context = context;
  }

  async get(caller: Caller, id: string): Promise<SandboxNetwork> {
    const sandbox = await this.#context.sandboxes.get(caller, id);
    const present = await this.#context.rules.present(sandbox);
    return shown(present ?? { rules: await this.#made(sandbox), revision: 0 });
  }

  /** When this is done the new rules hold, and what they forbid is closed. */
  async set(caller: Caller, id: string, { revision, ...wanted }: ChangeNetwork): Promise<SandboxNetwork> {
    const { sandboxes, store, gates } = this.#context;
    const sandbox = await sandboxes.own(caller, id);
    const change = canonical(wanted);
    const stored = await store.sandboxRules.change(sandbox.id, {
      made: await this.#made(sandbox),
      revision,
      by: caller.owner.principal,
      apply: (present) => ({ ...present, ...change }),
    });
    await gates.rulesChanged(sandbox.id);
    return shown(stored);
  }

  async log(
    caller: Caller,
    id: string,
    query: EgressQuery & { readonly after: number; readonly limit: number },
  ): Promise<EgressRecord[]> {
    const { id: sandbox } = await this.#context.sandboxes.get(caller, id);
    return this.#context.journal.list({ sandbox, verdict: query.verdict }, query.after, query.limit);
  }

  /** The log as it grows; without a position from now on. */
  async follow(caller: Caller, id: string, { verdict }: EgressQuery, after?: number) {
    const { journal, sandboxes } = this.#context;
    const { id: sandbox } = await sandboxes.get(caller, id);
    const from = after ?? (await journal.end(sandbox));
    return { from, source: (signal: AbortSignal) => journal.follow({ sandbox, verdict }, from, signal) };
  }

  async usage(caller: Caller, id: string): Promise<EgressUsage> {
    const sandbox = await this.#context.sandboxes.get(caller, id);
    const limits = (await this.#context.rules.present(sandbox))?.rules.limits ?? {};
    return { ...(await this.#context.journal.usage(sandbox.id)), limits };
  }

  async #made(sandbox: Sandbox): Promise<NetworkRules> {
    const rules = await this.#context.rules.made(sandbox);
    if (!rules) throw new CaissonError('attempt_not_found', `${sandbox.id} has no attempt that says its network`);
    return rules;
  }
}

/** What is written here is read as in a spec, so that one meaning has one spelling wherever it was written. */
function canonical(wanted: Omit<ChangeNetwork, 'revision'>): Partial<NetworkRules> {
  const { mode, allow, deny, limits = {}, secrets = [] } = readAsSpec(wanted).network;
  const read: NetworkRules = { mode, allow: unique(allow), deny: unique(deny), limits, secrets: unique(secrets) };
  // What was not given is the spec's default here, and stays as it is there.
  return Object.fromEntries(Object.keys(wanted).map((name) => [name, read[name as keyof NetworkRules]]));
}

function unique(entries: readonly string[]): string[] {
  return [...new Set(entries)];
}

function readAsSpec(network: Omit<ChangeNetwork, 'revision'>) {
  try {
    return normalize({ runtime: { network } }, false).runtime;
  } catch (error) {
    if (!(error instanceof CaissonError) || error.code !== 'spec_invalid') throw error;
    // The problems stand where the caller wrote the fault: there is no spec here.
    const problems = error.problems.map((one) => ({ ...one, path: one.path.replace(/^runtime\.network\./, '') }));
    const [first] = problems;
    const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
    throw new CaissonError('request_invalid', `${first?.path}: ${first?.message}${more}`, { problems });
  }
}

function shown({ rules, revision }: StoredRules): SandboxNetwork {
  return { ...rules, revision, isChanged: revision > 0 };
}
