import { CaissonError, hasCode, type Sandbox, type WorkspaceBlueprint } from '@caisson/contract';
import type { CreateRequest, Driver, Instance } from '../drivers/driver.ts';
import type { StepChange } from '../store/sandboxes.ts';
import { withDeadline } from './deadline.ts';
import { end, haltOrEnd, keyOf, removeFilesystem } from './end.ts';
import { withHostDefaults } from './host-defaults.ts';
import { Progress } from './progress.ts';
import { settleIn } from './settle-in.ts';
import { unmetNotices } from './unmet.ts';
import type { WorkContext } from './work-context.ts';

/** From a record to an instance that can be used: the filesystem, the instance, what it needs inside. */
export async function launch(context: WorkContext, sandbox: Sandbox, signal: AbortSignal): Promise<StepChange> {
  const driver = context.driver(sandbox.driver);
  const plan = await planOf(context, sandbox);
  try {
    const { request, notices } = await requestOf(context, driver, sandbox, plan, signal);
    const instance = await withDeadline('launching', context.deadlines.launchMs, signal, (inner) =>
      begin(driver, request, plan, inner),
    );
    context.filesystems?.storage.makeAhead?.();
    const unmet = driver.capabilities.guest ? unmetNotices(plan.blueprint) : [];
    return {
      reason: null,
      notices: [...new Set([...sandbox.notices, ...notices, ...instance.notices, ...unmet])],
      instance: { driver: driver.name, host: instance.host },
      endAttempt: { state: 'succeeded' },
    };
  } catch (error) {
    // The next server goes on with what a shutdown interrupts; there is nothing to undo.
    if (!hasCode(error, 'shutting_down')) await undo(context, sandbox, plan);
    throw error;
  }
}

interface Plan {
  readonly blueprint: WorkspaceBlueprint;
  /** It begins from the filesystem that was kept for it. */
  readonly fromKept: boolean;
}

async function planOf(context: WorkContext, sandbox: Sandbox): Promise<Plan> {
  const attempt = sandbox.attempt === null ? undefined : await context.store.attempts.get(sandbox.attempt);
  if (!attempt) throw new CaissonError('attempt_not_found', `${sandbox.id} has no attempt to launch`);
  // It was normalized when the attempt was recorded.
  const blueprint = attempt.blueprint as WorkspaceBlueprint;
  return { blueprint, fromKept: attempt.action === 'start' && sandbox.persistence === 'persistent' };
}

async function requestOf(
  context: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  { blueprint, fromKept }: Plan,
  signal: AbortSignal,
): Promise<{ request: CreateRequest; notices: readonly string[] }> {
  const resources = withHostDefaults(blueprint.runtime.resources);
  const common = {
    key: keyOf(sandbox),
    owner: sandbox.owner,
    labels: { 'caisson.installation': context.installation },
    blueprint,
    fromKept,
    resources,
  };
  const { filesystems, store, deadlines } = context;
  if (driver.capabilities.storage !== 'ours') return { request: common, notices: [] };
  if (!filesystems) throw new CaissonError('storage_failed', 'this server has no storage for root filesystems');
  const progress = new Progress(store, sandbox.id);
  try {
    const prepared = await withDeadline('preparing the filesystem', deadlines.prepareMs, signal, (inner) =>
      filesystems.prepare(sandbox.id, blueprint, {
        ownIds: driver.ownIds?.(blueprint) ?? driver.capabilities.userNamespace,
        diskMiB: resources.diskMiB,
        progress: progress.tell,
        signal: inner,
      }),
    );
    return { request: { ...common, rootfs: prepared.rootfs, env: prepared.env }, notices: prepared.notices };
  } finally {
    await progress.end();
  }
}

async function begin(driver: Driver, request: CreateRequest, plan: Plan, signal: AbortSignal): Promise<Instance> {
  const instance = await driver.create(request, signal);
  if (driver.guest) await settleIn(await driver.guest(request.key, signal), plan, signal);
  return instance;
}

/**
 * A launch that failed leaves nothing behind but the filesystem that was kept for it. What cannot be removed now is found
 * by the reconciler, which removes what no record wants.
 */
async function undo(context: WorkContext, sandbox: Sandbox, { fromKept }: Plan): Promise<void> {
  const signal = new AbortController().signal;
  try {
    if (fromKept) return await haltOrEnd(context, keyOf(sandbox), sandbox, signal);
    await end(context, keyOf(sandbox), sandbox, signal);
    await removeFilesystem(context, sandbox, signal);
  } catch {
    // The first failure is the one to tell.
  }
}
