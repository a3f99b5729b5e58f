import { randomBytes } from 'node:crypto';
import { CaissonError, ownerLabels } from '@caisson/contract';
import { requireRootShape } from '../../isolation/root-shape.ts';
import type { CreateRequest } from '../driver.ts';
import { cgroupLayout, cgroupOf } from './cgroup.ts';
import { ociConfig } from './config.ts';
import type { Place } from './find-runtimes.ts';
import { GuestLink, type LinkListener } from './guest-link.ts';
import type { InstanceFolder, InstanceRecord } from './instance-folder.ts';
import { linuxResources, readMachine } from './limits.ts';
import { identify } from './process-identity.ts';
import { type WritableMounts, writableMounts } from './read-only-root.ts';
import type { Runtime } from './runtime.ts';

/** A guest dials within milliseconds; a machine under load takes its time. */
const dialMs = 30_000;
/** How often it is looked whether a guest that has not dialled is still there: nobody tells. */
const lookMs = 20;

export interface LaunchInput extends LinkListener {
  readonly request: CreateRequest;
  readonly folder: InstanceFolder;
  readonly runtime: Runtime;
  readonly place: Place;
  readonly signal: AbortSignal;
}

/** From nothing to a guest that answers. What fails leaves the folder, by which the rest is found and removed. */
export async function launch(input: LaunchInput): Promise<{ record: InstanceRecord; link: GuestLink }> {
  const { request, folder, runtime, signal } = input;
  if (request.rootfs) await requireRootShape(request.rootfs.path);
  const secrets = { current: randomBytes(32), next: randomBytes(32) };
  const record: InstanceRecord = {
    key: request.key,
    labels: { ...request.labels, ...ownerLabels(request.owner) },
    runtime: runtime.name,
    runtimeOptions: runtime.options,
    createdAt: Date.now(),
    notices: noticesOf(runtime),
  };
  await folder.make(record, secrets, request.rootfs?.ids?.first ?? 0);
  await folder.writeConfig(configOf(input, await writableMounts(request, input.place.host)));
  const link = await GuestLink.open(folder, request.key, input);
  try {
    await runtime.run(folder, secrets.current, signal);
    await dialled(link, folder, signal);
    const pid = folder.pid();
    const running = pid === undefined ? undefined : identify(pid);
    if (!running) throw new CaissonError('guest_failed', `the guest of ${folder.name} ended at once`);
    const made = { ...record, running };
    await folder.write(made);
    return { record: made, link };
  } catch (error) {
    await link.close();
    throw error;
  }
}

function configOf({ request, folder, runtime, place }: LaunchInput, writable: WritableMounts): Record<string, unknown> {
  const { blueprint, rootfs, key } = request;
  if (!rootfs) throw new CaissonError('internal', 'an OCI instance needs a root filesystem');
  return ociConfig({
    key,
    rootfs,
    guest: { program: place.guestProgram, folder: folder.guest },
    env: request.env ?? blueprint.runtime.env,
    directory: blueprint.runtime.workspaceRoot,
    cgroup: cgroupOf(folder.name),
    resources: linuxResources(
      request.resources ?? blueprint.runtime.resources,
      readMachine(cgroupLayout() ?? 'v2'),
      folder.name,
    ),
    seccomp: runtime.known.seccomp,
    writable,
    isBare: request.isBare ?? false,
  });
}

async function dialled(link: GuestLink, folder: InstanceFolder, signal: AbortSignal): Promise<void> {
  const gone = new AbortController();
  const look = setInterval(() => {
    const pid = folder.pid();
    if (pid !== undefined && !identify(pid)) gone.abort();
  }, lookMs);
  try {
    await link.connected(AbortSignal.any([signal, gone.signal, AbortSignal.timeout(dialMs)]));
  } catch (cause) {
    signal.throwIfAborted();
    const lines = folder.lastLines(10);
    const what = gone.signal.aborted ? 'ended before it dialled' : `did not dial within ${dialMs / 1000} s`;
    throw new CaissonError(
      'guest_failed',
      `the guest of ${folder.name} ${what}: ${lines.at(-1) ?? 'it said nothing'}`,
      {
        context: { lines },
        cause,
      },
    );
  } finally {
    clearInterval(look);
  }
}

/** Where this backend gives less than the blueprint wanted. */
function noticesOf(runtime: Runtime): string[] {
  if (runtime.known.userNamespace) return [];
  return [`${runtime.name} gives the sandbox no user ids of its own; its kernel is not the host's.`];
}
