import { type Id, newId, type Owner, type Sandbox } from '@caisson/contract';
import type { Limits } from '../../packages/server/src/store/limits.ts';
import type { NewSandbox } from '../../packages/server/src/store/sandboxes.ts';
import type { Store } from '../../packages/server/src/store/store.ts';

export const ada: Owner = { tenant: 'acme', project: 'web', principal: 'ada' };
export const noLimits: Limits = { sandboxesPerTenant: null, sandboxesPerHost: null };

export function newSandbox(change: Partial<NewSandbox> = {}): NewSandbox {
  return {
    id: newId('sandbox'),
    owner: ada,
    name: null,
    slot: null,
    profile: null,
    labels: {},
    driver: 'fake',
    notices: [],
    host: 'here',
    blueprintDigest: `blueprint-sha256:${'0'.repeat(64)}`,
    persistence: 'ephemeral',
    expiresAt: null,
    policy: { keepTurns: 100, perTool: false, autoPauseSeconds: null, autoResume: false },
    ...change,
  };
}

export function newAttempt(action: 'create' | 'recreate' = 'create') {
  const id: Id<'attempt'> = newId('attempt');
  return { id, action, spec: { repo: 'x' }, resolvedSpec: { repo: 'x' }, blueprint: { b: 1 }, blueprintDigest: 'd' };
}

export async function put(store: Store, change: Partial<NewSandbox> = {}, limits = noLimits): Promise<Sandbox> {
  return (await store.sandboxes.create(newSandbox(change), newAttempt(), limits)).sandbox;
}

export async function makeReady(store: Store, change: Partial<NewSandbox> = {}): Promise<Sandbox> {
  const requested = await put(store, change);
  const entered = await store.sandboxes.step(requested, { action: 'create', enter: 'provisioning' });
  return (await store.sandboxes.step(entered.sandbox, { action: 'create', end: 'success' })).sandbox;
}

export async function makeDestroyed(store: Store, sandbox: Sandbox): Promise<Sandbox> {
  const entered = await store.sandboxes.step(sandbox, { action: 'destroy', enter: 'destroying' });
  return (await store.sandboxes.step(entered.sandbox, { action: 'destroy', end: 'success' })).sandbox;
}

/** The codes with which some of many failed, and how many succeeded. */
export async function outcomes(work: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const one of await Promise.allSettled(work)) {
    const key = one.status === 'fulfilled' ? 'ok' : String((one.reason as { code?: string }).code ?? one.reason);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
