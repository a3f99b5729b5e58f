import { existsSync, statSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Id, newId } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import type { InstanceKey } from '../driver.ts';
import { Cgroup, type CgroupLayout, cgroupLayout, cgroupOf } from './cgroup.ts';
import { insideProgram, ociConfig } from './config.ts';
import { InstanceFolder } from './instance-folder.ts';
import { isRuntimeName, knownRuntimes, type RuntimeName, runtimeNames } from './known-runtimes.ts';
import { linuxResources, readMachine } from './limits.ts';
import { Runtime } from './runtime.ts';
import { writeJson } from './write-json.ts';

export type RuntimeFinding =
  | {
      readonly name: RuntimeName;
      readonly usable: true;
      readonly version: string;
      readonly program: string;
      /** Those that it understood. */
      readonly options: readonly string[];
    }
  | { readonly name: RuntimeName; readonly usable: false; readonly why: string; readonly fix: string };

export interface Place {
  /** The driver's folder for what goes with the machine's next start. */
  readonly root: string;
  readonly guestProgram: string;
  readonly host: HostClient;
}

const folders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** Ids that no sandbox is given. */
const probeIds = { first: 0x7fff_0000, count: 65_536 };

/** Where the program of a runtime is, if it is installed. */
export function programOf(name: RuntimeName): string | undefined {
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Whether a runtime works here, found out by running something in it. What was found holds until one of the two changes. */
export async function tryRuntime(name: RuntimeName, place: Place, signal: AbortSignal): Promise<RuntimeFinding> {
  const program = programOf(name);
  const { package: debian } = knownRuntimes[name];
  if (!program) return { name, usable: false, why: `${name} is not installed`, fix: `apt-get install ${debian}` };
  if (process.getuid?.() !== 0)
    return { name, usable: false, why: `${name} needs root here`, fix: 'Run the server as root.' };
  const layout = cgroupLayout();
  if (!layout) {
    const fix = 'Mount the control groups: mount -t cgroup2 none /sys/fs/cgroup';
    return { name, usable: false, why: 'there are no control groups at /sys/fs/cgroup', fix };
  }
  const facts = await factsOf(program, place.guestProgram);
  const kept = await readKept(place.root, name, facts);
  if (kept) return kept;
  let finding: RuntimeFinding | undefined;
  for (const options of knownRuntimes[name].options) {
    finding = await tryOut({ name, program, layout, options }, place, signal);
    if (finding.usable) {
      writeJson(keptFile(place.root, name), { facts, finding });
      break;
    }
  }
  return finding as RuntimeFinding;
}

interface Candidate {
  readonly name: RuntimeName;
  readonly program: string;
  readonly layout: CgroupLayout;
  readonly options: readonly string[];
}

async function tryOut(candidate: Candidate, place: Place, signal: AbortSignal): Promise<RuntimeFinding> {
  const { name, program, layout, options } = candidate;
  const version = await versionOf(program, place.host);
  const key = { sandbox: newId('sandbox'), incarnation: 1 };
  const trial = trialOf(candidate, key, place);
  const { own, folder, runtime } = trial;
  const rootfs = join(own, 'rootfs');
  const ids = runtime.known.userNamespace ? probeIds : undefined;
  try {
    await mkdir(rootfs, { recursive: true });
    for (const path of [place.root, own]) await chmod(path, 0o711);
    if (ids) await chown(rootfs, ids.first, ids.first);
    await mkdir(folder.guest, { recursive: true });
    const config = ociConfig({
      key,
      rootfs: { path: rootfs, ...(ids ? { ids } : {}) },
      guest: { program: place.guestProgram, folder: folder.guest },
      env: {},
      directory: '/',
      cgroup: cgroupOf(folder.name),
      resources: linuxResources({ cpus: 1, memoryMiB: 64, pids: 64 }, readMachine(layout), folder.name),
      seccomp: runtime.known.seccomp,
    });
    const process = { ...(config.process as object), args: [insideProgram, 'version'] };
    await folder.writeConfig({ ...config, process });
    await runtime.runToEnd(folder, signal);
    return { name, usable: true, version, program, options };
  } catch (error) {
    const why = `${name} ${version} does not work here: ${(error as Error).message}`;
    return { name, usable: false, why, fix: 'Install another runtime, such as runc or crun.' };
  } finally {
    await removeTrial(trial, layout);
  }
}

interface Trial {
  readonly own: string;
  readonly folder: InstanceFolder;
  readonly runtime: Runtime;
}

/** Several may be tried at once: each in a folder of its own, whose name tells whoever has to remove it. */
function trialOf(candidate: Candidate, key: InstanceKey, place: Place): Trial {
  const own = join(place.root, `probe-${candidate.name}-${key.sandbox}`);
  const { host } = place;
  const runtime = new Runtime({ ...candidate, state: join(own, 'state'), host });
  return { own, folder: new InstanceFolder(own, InstanceFolder.nameOf(key)), runtime };
}

async function removeTrial({ own, folder, runtime }: Trial, layout: CgroupLayout): Promise<void> {
  await runtime.delete(folder, { force: true }).catch(() => {});
  new Cgroup(cgroupOf(folder.name), layout).removeEmpty();
  await rm(own, { recursive: true, force: true });
}

/** Removes what a server that was killed while it tried a runtime left of that. */
export async function sweepTrials(place: Place): Promise<void> {
  const layout = cgroupLayout();
  for (const entry of layout ? await readdir(place.root) : []) {
    const [, name = '', sandbox] = /^probe-([a-z]+)-(sbx[a-z0-9]{20})$/.exec(entry) ?? [];
    const program = isRuntimeName(name) ? programOf(name) : undefined;
    if (!layout || !isRuntimeName(name) || program === undefined) continue;
    const key = { sandbox: sandbox as Id<'sandbox'>, incarnation: 1 };
    for (const options of knownRuntimes[name].options)
      await removeTrial(trialOf({ name, program, layout, options }, key, place), layout);
  }
}

async function versionOf(program: string, host: HostClient): Promise<string> {
  const { stdout } = await host.run([program, '--version'], { timeoutMs: 10_000 });
  return /version\s+(\S+)/.exec(Buffer.from(stdout).toString())?.[1] ?? 'unknown';
}

/** What a finding depends on: the two programs and the kernel since it started. */
async function factsOf(...programs: string[]): Promise<string> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  const files = programs.map((path) => {
    const { size, mtimeMs } = statSync(path);
    return { path, size, mtimeMs };
  });
  return JSON.stringify({ boot: boot.trim(), files });
}

function keptFile(root: string, name: RuntimeName): string {
  return join(root, `found-${name}.json`);
}

async function readKept(root: string, name: RuntimeName, facts: string): Promise<RuntimeFinding | undefined> {
  try {
    const kept = JSON.parse(await readFile(keptFile(root, name), 'utf8')) as { facts: string; finding: RuntimeFinding };
    return kept.facts === facts ? kept.finding : undefined;
  } catch {
    return undefined;
  }
}

/** The runtimes that may be taken where nobody asks for one, best first. */
export const automaticRuntimes = runtimeNames.filter((name) => knownRuntimes[name].isolation === 'namespaces');
