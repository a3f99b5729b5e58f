import { CaissonError, type Id, newId, type SelfCheck, type WorkspaceBlueprint } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Storage } from '../storage/storage.ts';

/** Between writing a file and reading the host's clock there is a loaded machine, and no more. */
const clockMs = 5_000;
const maxFileBytes = 65_536;

type Check = SelfCheck['checks'][number];
type Finding = Pick<Check, 'ok' | 'detail'>;

export interface SelfCheckSubject {
  readonly sandbox: Id<'sandbox'>;
  readonly blueprint: WorkspaceBlueprint;
  readonly diskMiB: number | undefined;
  /** Where its files are kept, where that is ours. */
  readonly storage: Storage | undefined;
}

/**
 * A new sandbox looks at itself: whether it is what its blueprint says. Everything goes through the guest's files, so it
 * needs no program of the image and takes milliseconds. What cannot be told is neither good nor bad.
 */
export async function selfCheck(
  guest: GuestClient,
  subject: SelfCheckSubject,
  launchMs: number,
  signal: AbortSignal,
): Promise<SelfCheck> {
  const found = await Promise.all([
    timed('guest', async () => ({ ok: true, detail: `answers within ${(await guest.ping(signal)).toFixed(1)} ms` })),
    ...workspaceAndClock(guest, subject.blueprint.runtime.workspaceRoot, signal),
    timed('disk', () => disk(subject, signal)),
    timed('network', () => network(guest, subject.blueprint, signal)),
  ]);
  const checks = found.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  return { ok: checks.every(({ ok }) => ok !== false), launchMs: rounded(launchMs), checks };
}

const order: readonly Check['name'][] = ['guest', 'workspace', 'disk', 'network', 'clock'];

/** The error that a failed check is. */
export function selfCheckError({ checks }: SelfCheck): CaissonError {
  const failed = checks.filter(({ ok }) => ok === false).map(({ name, detail }) => `${name}: ${detail}`);
  return new CaissonError('self_check_failed', `the new sandbox is not what it should be: ${failed.join('; ')}`);
}

/** One file serves both: it is there as it was written, and its time is the sandbox's. */
function workspaceAndClock(guest: GuestClient, root: string, signal: AbortSignal): Promise<Check>[] {
  const path = `${root}/.caisson-${newId('request')}`;
  const text = 'written by the sandbox itself\n';
  const written = guest.files.write(path, text, { signal, mode: 0o600 });
  const clock = timed('clock', async () => {
    const { mtimeSeconds, mtimeNanoseconds } = await written;
    const apartMs = Math.round(Math.abs(Date.now() - mtimeSeconds * 1000 - mtimeNanoseconds / 1e6));
    return { ok: apartMs <= clockMs, detail: `${apartMs} ms apart from the host's` };
  });
  const workspace = timed('workspace', async () => {
    await written;
    try {
      const read = (await guest.files.readAll(path, { signal, maxBytes: maxFileBytes })).toString();
      return { ok: read === text, detail: `${root} ${read === text ? 'can be written' : 'gives back something else'}` };
    } finally {
      await guest.files.remove(path, { signal, missingOk: true });
    }
  });
  return [workspace, clock];
}

async function disk({ sandbox, diskMiB, storage }: SelfCheckSubject, signal: AbortSignal): Promise<Finding> {
  if (!storage || diskMiB === undefined) return { ok: null, detail: 'its files are kept by the backend' };
  if (!storage.capabilities.quota) return { ok: null, detail: `${storage.name} limits no disks` };
  const { quotaBytes } = await storage.usage(sandbox, signal, { recent: true });
  const limit = quotaBytes === null ? 'no limit' : `a limit of ${Math.round(quotaBytes / 1024 ** 2)} MiB`;
  return {
    ok: quotaBytes !== null && quotaBytes >= diskMiB * 1024 ** 2,
    detail: `has ${limit}, ${diskMiB} MiB are meant`,
  };
}

/** Whatever its mode, no packet leaves a sandbox: it has loopback and nothing else. */
async function network(guest: GuestClient, blueprint: WorkspaceBlueprint, signal: AbortSignal): Promise<Finding> {
  const { mode } = blueprint.runtime.network;
  const text = await guest.files
    .readAll('/proc/net/dev', { signal, user: 'root', maxBytes: maxFileBytes })
    .catch(() => undefined);
  if (text === undefined) return { ok: null, detail: `${mode}; the kernel does not tell its interfaces` };
  const names = [...text.toString().matchAll(/^\s*([^\s:|]+):/gm)].map((match) => match[1] ?? '');
  const others = names.filter((name) => name !== 'lo').slice(0, 5);
  const detail = others.length === 0 ? `${mode}, with loopback alone` : `${mode}, and it has ${others.join(', ')}`;
  return { ok: others.length === 0, detail: detail.slice(0, 500) };
}

async function timed(name: Check['name'], look: () => Promise<Finding>): Promise<Check> {
  const began = performance.now();
  const finding = await look().catch((error: unknown): Finding => {
    const message = error instanceof CaissonError ? error.message : 'a defect of Caisson';
    return { ok: false, detail: message.slice(0, 500) };
  });
  return { name, ...finding, ms: rounded(performance.now() - began) };
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
