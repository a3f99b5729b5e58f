import { CaissonError, hasCode, type Sandbox, type SelfCheck } from '@caisson/contract';
import type { CreateRequest, Driver, Instance } from '../drivers/driver.ts';
import { proxyEnv } from '../network/proxy-ports.ts';
import type { LaunchSecrets } from '../network/secrets/inside-secrets.ts';
import type { AttemptImage } from '../store/attempts.ts';
import type { StepChange } from '../store/sandboxes.ts';
import { requireRecordedBase } from './base-access.ts';
import { withDeadline } from './deadline.ts';
import { end, haltOrEnd, keyOf, removeFilesystem } from './end.ts';
import { furnish } from './furnish.ts';
import { instanceLabels } from './healing/papers-of.ts';
import { withHostDefaults } from './host-defaults.ts';
import { chosenImage, imageOnBackend } from './launch-image.ts';
import { type Kept, type LaunchPlan, planOf } from './launch-plan.ts';
import { Progress } from './progress.ts';
import { selfCheck, selfCheckError } from './self-check.ts';
import { settleIn } from './settle-in.ts';
import { isSnapshotting } from './travel/snapshot-storage.ts';
import { unmetNotices } from './unmet.ts';
import type { WorkContext } from './work-context.ts';

/** A backend that just did not answer hardly will now, and somebody waits for the failure or for the next backend. */
const awayMs = 3_000;

type PlanWithSecrets = LaunchPlan & { readonly secrets: LaunchSecrets | undefined };

/**
 * From a record to an instance that can be used: the filesystem, the instance, what it needs inside. With `kept` it begins
 * from the files that it has.
 */
export async function launch(
  context: WorkContext,
  sandbox: Sandbox,
  signal: AbortSignal,
  kept?: Kept,
): Promise<StepChange> {
  const driver = context.driver(sandbox.driver);
  const plan = await planOf(context, driver, sandbox, kept);
  if (!plan.fromKept && !plan.from) requireRecordedBase(sandbox, plan.blueprint, context.profile?.(sandbox));
  const backend = { driver: driver.name, host: sandbox.host ?? '' };
  const { tenant } = sandbox.owner;
  context.health?.began(backend, tenant);
  try {
    const secrets = await context.secrets?.atLaunch(sandbox.owner, plan.secretNames);
    const about = { sandbox: sandbox.id, driver: driver.name };
    const { request, notices, image } = await context.spans.run('prepare', about, () =>
      requestOf(context, driver, sandbox, { ...plan, secrets }, signal),
    );
    // What images and files take says nothing about the backend.
    const asked = performance.now();
    const instance = await context.spans.run('launch', about, () =>
      withDeadline('launching', context.deadlines.launchMs, signal, (inner) =>
        begin(driver, request, { ...plan, secrets }, inner),
      ),
    );
    const launchMs = performance.now() - asked;
    const placed = await context.spans.run('furnish', about, () => furnish(context, driver, sandbox, plan, signal));
    const checked = await context.spans.run('self-check', about, () =>
      look(context, driver, sandbox, plan, launchMs, signal),
    );
    context.health?.launched(backend, tenant, launchMs);
    context.filesystems?.storage.makeAhead?.();
    const { imageChoice } = context;
    const does = {
      builds: imageChoice?.isBuilt(plan.blueprint) ?? false,
      sources: imageChoice?.sources !== undefined,
    };
    const unmet = driver.capabilities.guest ? unmetNotices(plan.blueprint, does) : [];
    return {
      reason: null,
      notices: [
        ...new Set([
          ...sandbox.notices,
          ...notices,
          ...instance.notices,
          ...(secrets?.notices ?? []),
          ...placed,
          ...unmet,
        ]),
      ],
      instance: { driver: driver.name, host: instance.host },
      endAttempt: { state: 'succeeded', image },
      ...(checked ? { checked } : {}),
    };
  } catch (error) {
    context.health?.failed(backend, tenant, error);
    // The next server goes on with what a shutdown interrupts; there is nothing to undo.
    if (!hasCode(error, 'shutting_down')) await undo(context, sandbox, plan, error);
    throw error;
  }
}

async function requestOf(
  context: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  plan: PlanWithSecrets,
  signal: AbortSignal,
): Promise<{ request: CreateRequest; notices: readonly string[]; image?: AttemptImage }> {
  const { blueprint, isConnected, fromKept, from, kept, notices, secrets } = plan;
  const resources = withHostDefaults(blueprint.runtime.resources);
  const outward = isConnected ? proxyEnv : {};
  const envOn = (image: AttemptImage) => ({ ...outward, ...image.env, ...secrets?.env, ...blueprint.runtime.env });
  const common = async (image?: AttemptImage) => ({
    key: keyOf(sandbox),
    owner: sandbox.owner,
    labels: await instanceLabels(context, sandbox, plan, image),
    blueprint,
    fromKept,
    resources,
  });
  const { filesystems, store, deadlines } = context;
  if (driver.capabilities.storage !== 'ours') {
    const found = await imageOnBackend(context, driver, sandbox, plan, signal);
    if (!found) return { request: await common(), notices };
    const { image, notices: more } = found;
    const request = {
      ...(await common(image)),
      image: { reference: image.digest, digest: image.digest },
      env: envOn(image),
    };
    return { request, notices: [...notices, ...more], image };
  }
  if (!filesystems) throw new CaissonError('storage_failed', 'this server has no storage for root filesystems');
  const image = from?.image ?? kept?.image ?? (fromKept ? await store.attempts.image(sandbox.id) : undefined);
  const chosen = image ? {} : await chosenImage(context, sandbox, plan, signal);
  const progress = new Progress(store, sandbox.id);
  try {
    const prepared = await withDeadline('preparing the filesystem', deadlines.prepareMs, signal, (inner) =>
      filesystems.prepare(sandbox.id, blueprint, {
        ownIds: driver.ownIds?.(blueprint) ?? driver.capabilities.userNamespace,
        diskMiB: resources.diskMiB,
        snapshot: from?.snapshot,
        base: chosen.base,
        image,
        progress: progress.tell,
        signal: inner,
      }),
    );
    const request = { ...(await common(prepared.image)), rootfs: prepared.rootfs, env: envOn(prepared.image) };
    const told = [...notices, ...(chosen.notices ?? []), ...prepared.notices];
    return { request, notices: told, image: prepared.image };
  } finally {
    await progress.end();
  }
}

async function begin(
  driver: Driver,
  request: CreateRequest,
  plan: PlanWithSecrets,
  signal: AbortSignal,
): Promise<Instance> {
  const { blueprint, isConnected, fromKept, from, kept, secrets } = plan;
  const instance =
    from && isSnapshotting(driver)
      ? await driver.fork(from.snapshot, request, signal)
      : await driver.create(request, signal);
  if (!driver.guest) return instance;
  const isTakenOver = from !== undefined || kept?.isForeign === true;
  const beginsFrom = isTakenOver ? 'snapshot' : fromKept ? 'kept' : 'image';
  const guest = await driver.guest(request.key, signal);
  const arrival = { sandbox: request.key.sandbox, blueprint, beginsFrom, isConnected } as const;
  await Promise.all([settleIn(guest, arrival, signal), secrets?.settleIn(guest, signal)]);
  return instance;
}

/** What a new sandbox finds of itself, where its profile wants to know. One that is not what it should be is not kept. */
async function look(
  context: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  { blueprint, networkMode, fromKept }: LaunchPlan,
  launchMs: number,
  signal: AbortSignal,
): Promise<SelfCheck | undefined> {
  if (fromKept || !driver.guest || !context.selfChecks?.(sandbox)) return undefined;
  const storage = driver.capabilities.storage === 'ours' ? context.filesystems?.storage : undefined;
  const { diskMiB } = withHostDefaults(blueprint.runtime.resources);
  const { isolation } = driver.capabilities;
  const subject = { sandbox: sandbox.id, blueprint, networkMode, diskMiB, isolation, storage };
  const found = await withDeadline('looking at itself', context.deadlines.inspectMs, signal, async (inner) => {
    const guest = await driver.guest?.(keyOf(sandbox), inner);
    return guest && selfCheck(guest, subject, launchMs, inner);
  });
  if (!found || found.ok) return found;
  await context.store.sandboxes.note(sandbox.id, 'caisson.sandbox.checked', found);
  throw selfCheckError(found);
}

/**
 * A launch that failed leaves nothing behind but the filesystem that was kept for it. What cannot be removed now is found
 * by the reconciler, which removes what no record wants.
 */
async function undo(context: WorkContext, sandbox: Sandbox, { fromKept }: LaunchPlan, failure: unknown): Promise<void> {
  const isAway = hasCode(failure, 'driver_timeout', 'driver_unavailable');
  const signal = isAway ? AbortSignal.timeout(awayMs) : new AbortController().signal;
  try {
    if (fromKept) return await haltOrEnd(context, keyOf(sandbox), sandbox, signal);
    await end(context, keyOf(sandbox), sandbox, signal);
    await removeFilesystem(context, sandbox, signal);
  } catch {
    // The first failure is the one to tell.
  }
}
