import {
  CaissonError,
  hasCode,
  type Id,
  type NetworkRules,
  type Sandbox,
  type SelfCheck,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import type { CreateRequest, Driver, Instance } from '../drivers/driver.ts';
import { proxyEnv } from '../network/proxy-ports.ts';
import { type LaunchSecrets, secretsIn } from '../network/secrets/inside-secrets.ts';
import type { AttemptImage } from '../store/attempts.ts';
import type { StepChange } from '../store/sandboxes.ts';
import { imaging } from './backend-images.ts';
import { withDeadline } from './deadline.ts';
import { end, haltOrEnd, keyOf, removeFilesystem } from './end.ts';
import { withHostDefaults } from './host-defaults.ts';
import { placeSources, resolveSources } from './launch-sources.ts';
import { Progress } from './progress.ts';
import { selfCheck, selfCheckError } from './self-check.ts';
import { settleIn } from './settle-in.ts';
import { isSnapshotting } from './travel/snapshot-storage.ts';
import { unmetNotices } from './unmet.ts';
import type { WorkContext } from './work-context.ts';

/** The files that a sandbox has are those to begin from. */
export interface Kept {
  /** They were another sandbox's. */
  readonly isForeign: boolean;
  /** What they began from, where that is not what the sandbox itself did. */
  readonly image: AttemptImage | undefined;
}

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
  const backend = { driver: driver.name, host: sandbox.host ?? '' };
  const { tenant } = sandbox.owner;
  context.health?.began(backend, tenant);
  try {
    const facts = await resolveSources(context, driver, sandbox, plan, signal);
    const secrets = await context.secrets?.atLaunch(sandbox.owner, plan.secretNames);
    const { request, notices, image } = await requestOf(context, driver, sandbox, { ...plan, secrets }, signal);
    // What images and files take says nothing about the backend.
    const asked = performance.now();
    const instance = await withDeadline('launching', context.deadlines.launchMs, signal, (inner) =>
      begin(driver, request, { ...plan, secrets }, inner),
    );
    const launchMs = performance.now() - asked;
    const placed = facts && (await placeSources(context, driver, sandbox, plan, facts, signal));
    const checked = await look(context, driver, sandbox, plan, launchMs, signal);
    context.health?.launched(backend, tenant, launchMs);
    context.filesystems?.storage.makeAhead?.();
    const unmet = driver.capabilities.guest ? unmetNotices(plan.blueprint) : [];
    const brought = placed?.notices ?? [];
    return {
      reason: null,
      notices: [
        ...new Set([
          ...sandbox.notices,
          ...notices,
          ...instance.notices,
          ...(secrets?.notices ?? []),
          ...brought,
          ...unmet,
        ]),
      ],
      instance: { driver: driver.name, host: instance.host },
      endAttempt: { state: 'succeeded', image: image && (facts ? { ...image, sources: facts } : image) },
      ...(checked ? { checked } : {}),
    };
  } catch (error) {
    context.health?.failed(backend, tenant, error);
    // The next server goes on with what a shutdown interrupts; there is nothing to undo.
    if (!hasCode(error, 'shutting_down')) await undo(context, sandbox, plan);
    throw error;
  }
}

export interface LaunchPlan {
  readonly blueprint: WorkspaceBlueprint;
  /** That of its rules, which may have changed since it was written. */
  readonly networkMode: NetworkRules['mode'];
  /** The secrets that they name. */
  readonly secretNames: readonly string[];
  /** Programs inside are offered the way out. */
  readonly isConnected: boolean;
  /** It begins from the filesystem that was kept for it. */
  readonly fromKept: boolean;
  /** It begins from these files, in place of an image. */
  readonly from: { readonly snapshot: Id<'snapshot'>; readonly image: AttemptImage } | undefined;
  readonly kept: Kept | undefined;
  readonly notices: readonly string[];
}

type PlanWithSecrets = LaunchPlan & { readonly secrets: LaunchSecrets | undefined };

async function planOf(
  { store, subjects }: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  kept: Kept | undefined,
): Promise<LaunchPlan> {
  const attempt = sandbox.attempt === null ? undefined : await store.attempts.get(sandbox.attempt);
  if (!attempt) throw new CaissonError('attempt_not_found', `${sandbox.id} has no attempt to launch`);
  // It was normalized when the attempt was recorded.
  const blueprint = attempt.blueprint as WorkspaceBlueprint;
  const fromKept = kept !== undefined || (attempt.action === 'start' && sandbox.persistence === 'persistent');
  const { fromSnapshot: snapshot } = attempt;
  const rules = (await subjects.find(sandbox.id))?.rules;
  const networkMode = rules?.mode ?? 'off';
  const secretNames = rules?.secrets ?? secretsIn(blueprint);
  const isConnected = networkMode !== 'off' && driver.capabilities.networkModes.includes(networkMode);
  const common = { blueprint, networkMode, secretNames, isConnected, fromKept, kept };
  if (snapshot === null || fromKept) return { ...common, from: undefined, notices: [] };
  const isFirst = attempt.action === 'restore' || attempt.action === 'fork';
  const inputs = await store.snapshots.inputs(snapshot);
  // What is removed after the first try began stays for it; a later one need not have it.
  if (inputs && (isFirst || (await store.snapshots.get(snapshot))?.state === 'ready'))
    return { ...common, from: { snapshot, image: inputs.image }, notices: [] };
  if (isFirst) throw new CaissonError('snapshot_not_found', `the snapshot ${snapshot} is not there any more`);
  const notice = `The snapshot ${snapshot} that it came from is gone: it begins from its image.`;
  return { ...common, from: undefined, notices: [notice] };
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
  const common = {
    key: keyOf(sandbox),
    owner: sandbox.owner,
    labels: { 'caisson.installation': context.installation },
    blueprint,
    fromKept,
    resources,
  };
  const { filesystems, store, deadlines } = context;
  if (driver.capabilities.storage !== 'ours') {
    const found = await imageOnBackend(context, driver, sandbox, plan, signal);
    if (!found) return { request: common, notices };
    const { image, notices: more } = found;
    const request = { ...common, image: { reference: image.digest, digest: image.digest }, env: envOn(image) };
    return { request, notices: [...notices, ...more], image };
  }
  if (!filesystems) throw new CaissonError('storage_failed', 'this server has no storage for root filesystems');
  const progress = new Progress(store, sandbox.id);
  const image = from?.image ?? kept?.image ?? (fromKept ? await store.attempts.image(sandbox.id) : undefined);
  try {
    const prepared = await withDeadline('preparing the filesystem', deadlines.prepareMs, signal, (inner) =>
      filesystems.prepare(sandbox.id, blueprint, {
        ownIds: driver.ownIds?.(blueprint) ?? driver.capabilities.userNamespace,
        diskMiB: resources.diskMiB,
        snapshot: from?.snapshot,
        image,
        progress: progress.tell,
        signal: inner,
      }),
    );
    const request = { ...common, rootfs: prepared.rootfs, env: envOn(prepared.image) };
    return { request, notices: [...notices, ...prepared.notices], image: prepared.image };
  } finally {
    await progress.end();
  }
}

/** Which image of its own a backend launches; undefined for a backend that needs none. */
async function imageOnBackend(
  { store, backendImages, deadlines }: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  { blueprint, fromKept, from, kept }: LaunchPlan,
  signal: AbortSignal,
): Promise<{ image: AttemptImage; notices: readonly string[] } | undefined> {
  const taker = imaging(driver);
  if (!taker || !backendImages) return undefined;
  const known = from?.image ?? kept?.image ?? (fromKept ? await store.attempts.image(sandbox.id) : undefined);
  if (known) return { image: known, notices: [] };
  const progress = new Progress(store, sandbox.id);
  try {
    const { digest, env, notices } = await withDeadline('finding the image', deadlines.prepareMs, signal, (inner) =>
      backendImages.resolve(taker, blueprint.target.os, { signal: inner, progress: progress.tell }),
    );
    return { image: { digest, env }, notices };
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
async function undo(context: WorkContext, sandbox: Sandbox, { fromKept }: LaunchPlan): Promise<void> {
  const signal = new AbortController().signal;
  try {
    if (fromKept) return await haltOrEnd(context, keyOf(sandbox), sandbox, signal);
    await end(context, keyOf(sandbox), sandbox, signal);
    await removeFilesystem(context, sandbox, signal);
  } catch {
    // The first failure is the one to tell.
  }
}
