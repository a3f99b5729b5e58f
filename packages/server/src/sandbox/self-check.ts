import {
  CaissonError,
  type Id,
  type NetworkRules,
  newId,
  type SelfCheck,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Capabilities } from '../drivers/driver.ts';
import type { Storage } from '../storage/storage.ts';

/** Between writing a file and reading the host's clock there is a loaded machine, and no more. */
const clockMs = 5_000;
const maxFileBytes = 65_536;

type Check = SelfCheck['checks'][number];
type Finding = Pick<Check, 'ok' | 'detail'>;

export interface SelfCheckSubject {
  readonly sandbox: Id<'sandbox'>;
  readonly blueprint: WorkspaceBlueprint;
  readonly networkMode: NetworkRules['mode'];
  readonly diskMiB: number | undefined;
  readonly isolation: Capabilities['isolation'];
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
    timed('network', () => network(guest, subject, signal)),
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

/**
 * Whatever its mode, no packet leaves a sandbox: there is no way but over loopback. Ways are looked at, not interfaces:
 * some kernels give every network a few that lead nowhere.
 */
async function network(guest: GuestClient, subject: SelfCheckSubject, signal: AbortSignal): Promise<Finding> {
  const { networkMode: mode } = subject;
  if (subject.isolation === 'none') return { ok: null, detail: "it has the host's network: nothing stands between" };
  const read = (path: string) =>
    guest.files.readAll(path, { signal, user: 'root', maxBytes: maxFileBytes }).then(String, () => undefined);
  const [four, six = ''] = await Promise.all([read('/proc/net/route'), read('/proc/net/ipv6_route')]);
  if (four === undefined) return { ok: null, detail: `${mode}; the kernel does not tell its ways` };
  const ways = [...words(four, 0).slice(1), ...words(six, -1)].filter((name) => name !== 'lo');
  const others = [...new Set(ways)].slice(0, 5);
  const detail = others.length === 0 ? `${mode}, no way but loopback` : `${mode}, and a way over ${others.join(', ')}`;
  return { ok: others.length === 0, detail: detail.slice(0, 500) };
}

/** One word of each line of a table. */
function words(text: string, at: number): string[] {
  return text.split('\n').flatMap((line) => line.trim().split(/\s+/).at(at) || []);
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
