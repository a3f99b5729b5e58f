import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountsBelow } from '../../packages/server/src/storage/layered/mounts.ts';

/** Where one installation keeps what it has of sandboxes, and what was seen of them while they lived. */
export interface Traces {
  readonly dataFolder: string;
  readonly runtimeFolder: string;
  /** Ids of every sandbox that there ever was. */
  readonly sandboxes: ReadonlySet<string>;
  /** Namespaces that their first processes were in, as the kernel names them; somebody holds them. */
  readonly namespaces: ReadonlySet<string>;
  /** Processes beside the servers, as `processName` names them. */
  readonly helpers: ReadonlySet<string>;
}

/** Everything on this machine that belongs to sandboxes of the installation; empty when nothing does. */
export async function leftovers(traces: Traces): Promise<string[]> {
  const { dataFolder, runtimeFolder } = traces;
  const pools = poolsOf(dataFolder);
  const inPool = (path: string) => pools.some((pool) => path === pool || path.startsWith(`${pool}/`));
  const mounts = [...(await mountsBelow(dataFolder)), ...(await mountsBelow(runtimeFolder))];
  return [
    ...cgroupsOf(traces.sandboxes).map((path) => `cgroup ${path}`),
    ...mounts.filter((point) => point !== dataFolder && !pools.includes(point)).map((point) => `mount ${point}`),
    ...loopDevices(dataFolder)
      .filter((device) => backingFile(device) !== join(dataFolder, poolFile))
      .map((device) => `loop device ${device}`),
    ...processes(traces),
    ...entriesBelow(runtimeFolder).filter((path) => isUnexpected(path) && !inPool(path)),
    ...pools.flatMap(holdingsIn),
    ...(pools.length > plainPools.length ? [] : holdingsInFile(join(dataFolder, poolFile))),
  ];
}

function holdingsIn(pool: string): string[] {
  return ['rootfs', 'making', 'trash', 'snapshots'].flatMap((name) => entriesBelow(join(pool, name)));
}

/** The same of a pool that nobody has mounted. */
function holdingsInFile(file: string): string[] {
  if (!existsSync(file)) return [];
  const point = mkdtempSync(join(tmpdir(), 'caisson-look-'));
  try {
    execFileSync('mount', ['-o', 'loop,ro', file, point]);
    try {
      return holdingsIn(point);
    } finally {
      execFileSync('umount', [point]);
    }
  } finally {
    rmdirSync(point);
  }
}

const plainPools = ['storage', 'btrfs'];

/** Where an installation keeps root filesystems and snapshots: in its data folder, or on a disk in a file of it. */
export function poolsOf(dataFolder: string): string[] {
  const device = loopDevices(dataFolder).find((name) => backingFile(name) === join(dataFolder, poolFile));
  const mounts = readText('/proc/self/mountinfo').split('\n');
  const points = mounts.flatMap((line) => (line.includes(` /dev/${device} `) ? (line.split(' ')[4] ?? []) : []));
  return [...plainPools.map((name) => join(dataFolder, name)), ...(device === undefined ? [] : points)];
}

/** The disk stays mounted when its server ends while sandboxes live on. */
const poolFile = 'pool.btrfs';

const cgroupRoot = '/sys/fs/cgroup';

/** Their control groups in every tree. */
export function cgroupsOf(sandboxes: ReadonlySet<string>): string[] {
  const trees = ['', ...readdirSync(cgroupRoot)].map((tree) => join(cgroupRoot, tree, 'caisson'));
  return trees.flatMap((tree) =>
    namesIn(tree)
      .filter((name) => sandboxes.has(name.split('.')[0] ?? ''))
      .map((name) => join(tree, name)),
  );
}

export function namespacesOf(pid: number | string): string[] {
  return namesIn(`/proc/${pid}/ns`).flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/ns/${name}`)];
    } catch {
      return [];
    }
  });
}

/** Its pid and when it began: a pid alone may be somebody else's by now. Undefined of one that has ended. */
export function processName(pid: number | string): string | undefined {
  const text = readText(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return text === '' || fields[0] === 'Z' ? undefined : `${pid}@${fields[19]}`;
}

function processes({ dataFolder, runtimeFolder, sandboxes, namespaces, helpers }: Traces): string[] {
  const found: string[] = [];
  for (const pid of namesIn('/proc').filter((name) => /^\d+$/.test(name))) {
    const name = processName(pid);
    // What has ended is gone as soon as the machine's first process looks.
    if (name === undefined) continue;
    const command = readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
    const [, sandbox = ''] = /\/caisson\/(sbx[a-z0-9]+)/.exec(readText(`/proc/${pid}/cgroup`)) ?? [];
    const inNamespace = namespacesOf(pid).find((one) => namespaces.has(one));
    const isHelper = helpers.has(name);
    const named = command.includes(dataFolder) || command.includes(runtimeFolder);
    if (sandboxes.has(sandbox) || named || isHelper) found.push(`process ${pid} ${command.slice(0, 120)}`);
    if (inNamespace !== undefined) found.push(`namespace ${inNamespace} with ${pid}`);
  }
  return found;
}

/** Files of disks that a loop device still holds, also those that were deleted meanwhile. */
function loopDevices(dataFolder: string): string[] {
  return namesIn('/sys/block').filter((name) => backingFile(name).startsWith(`${dataFolder}/`));
}

function backingFile(device: string): string {
  return readText(`/sys/block/${device}/loop/backing_file`).trim();
}

/** What was found out about the runtimes stays, and so do the folders themselves. */
function isUnexpected(path: string): boolean {
  return !/\/(oci|rootfs|pool|oci\/(instances|trash|state|state\/[a-z]+|found-[a-z]+\.json))$/.test(path);
}

function entriesBelow(folder: string): string[] {
  return namesIn(folder).flatMap((name) => [join(folder, name), ...entriesBelow(join(folder, name))]);
}

function namesIn(folder: string): string[] {
  try {
    return existsSync(folder) ? readdirSync(folder) : [];
  } catch {
    // A file, or a process that ended between the two looks.
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
