import { existsSync } from 'node:fs';
import { lstat, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { TreeEntry } from '../tar-entries.ts';

/**
 * The machine's own programs as a base: its `/usr` and the few files below `/etc` that programs need to start, mounted
 * read-only over a skeleton that we make.
 *
 * Law: what a sandbox sees of the machine is on the lists below. Nothing is shown because somebody forgot to hide it.
 */
export interface HostBase {
  readonly release: string;
  readonly skeleton: readonly TreeEntry[];
  readonly binds: readonly { readonly source: string; readonly target: string }[];
}

/** Links into /usr where it is merged; folders of their own where it is not. */
const programFolders = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

/** Files and folders of /etc that any user of the machine may read and that programs do not start without. */
const sharedSettings = [
  { path: 'etc/alternatives', why: 'many names in /usr/bin are links into it' },
  { path: 'etc/ld.so.cache', why: 'where libraries are found' },
  { path: 'etc/ssl/certs', why: 'which servers TLS trusts; public certificates only' },
  { path: 'etc/ssl/openssl.cnf', why: 'without it openssl does not start' },
  { path: 'etc/services', why: 'names of ports' },
  { path: 'etc/protocols', why: 'names of protocols' },
];

const emptyFolders = ['dev', 'etc', 'etc/ssl', 'home', 'media', 'mnt', 'opt', 'proc', 'run', 'srv', 'sys', 'workspace'];
const varFolders = ['var', 'var/cache', 'var/lib', 'var/log', 'var/spool'];

const generated: readonly TreeEntry[] = [
  { kind: 'file', path: 'etc/passwd', text: passwd() },
  { kind: 'file', path: 'etc/group', text: 'root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n' },
  { kind: 'file', path: 'etc/hosts', text: '127.0.0.1 localhost\n::1 localhost ip6-localhost\n' },
  { kind: 'file', path: 'etc/hostname', text: 'sandbox\n' },
  { kind: 'file', path: 'etc/resolv.conf', text: '' },
  { kind: 'file', path: 'etc/nsswitch.conf', text: 'passwd: files\ngroup: files\nhosts: files dns\n' },
  { kind: 'file', path: 'etc/shells', text: '/bin/sh\n/bin/bash\n' },
  { kind: 'file', path: 'etc/profile', text: 'export PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}\n' },
];

function passwd(): string {
  return [
    'root:x:0:0:root:/root:/bin/sh',
    'user:x:1000:1000:user:/home/user:/bin/sh',
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
    '',
  ].join('\n');
}

/** `root` is the machine's; tests give another. */
export async function hostBase(root = '/'): Promise<HostBase> {
  const programs = await programPlaces(root);
  const settings = await settingPlaces(root);
  const skeleton: TreeEntry[] = [
    { kind: 'directory', path: '.' },
    ...[...emptyFolders, ...varFolders, 'usr'].map((path) => ({ kind: 'directory' as const, path })),
    { kind: 'directory', path: 'root', mode: 0o700 },
    { kind: 'directory', path: 'tmp', mode: 0o1777 },
    { kind: 'directory', path: 'var/tmp', mode: 0o1777 },
    { kind: 'symlink', path: 'var/run', target: '/run' },
    { kind: 'symlink', path: 'etc/mtab', target: '../proc/self/mounts' },
    { kind: 'symlink', path: 'etc/os-release', target: '../usr/lib/os-release' },
    ...(await localTime(root)),
    ...generated,
    ...programs.entries,
    ...settings.entries,
  ];
  const binds = [{ source: await realpath(join(root, 'usr')), target: '/usr' }, ...programs.binds, ...settings.binds];
  return { release: await readRelease(root), skeleton, binds };
}

interface Places {
  readonly entries: TreeEntry[];
  readonly binds: { source: string; target: string }[];
}

async function programPlaces(root: string): Promise<Places> {
  const places: Places = { entries: [], binds: [] };
  for (const path of programFolders) {
    const source = join(root, path);
    const found = await lstat(source).catch(() => undefined);
    if (found?.isSymbolicLink()) {
      const target = await readlink(source);
      // Anything but a link into /usr is somebody's own arrangement, and not ours to show.
      if (/^\/?usr\/[\w-]+$/.test(target)) places.entries.push({ kind: 'symlink', path, target });
    } else if (found?.isDirectory()) {
      places.entries.push({ kind: 'directory', path });
      places.binds.push({ source, target: `/${path}` });
    }
  }
  return places;
}

/** Each with a place to be mounted on. What not every user of the machine may read is not shown. */
async function settingPlaces(root: string): Promise<Places> {
  const places: Places = { entries: [], binds: [] };
  for (const { path } of sharedSettings) {
    const source = await realpath(join(root, path)).catch(() => undefined);
    const found = source === undefined ? undefined : await stat(source);
    if (source === undefined || found === undefined || (found.mode & 0o004) === 0) continue;
    if (found.isDirectory()) places.entries.push({ kind: 'directory', path });
    else if (found.isFile()) places.entries.push({ kind: 'file', path, text: '' });
    else continue;
    places.binds.push({ source, target: `/${path}` });
  }
  return places;
}

async function localTime(root: string): Promise<TreeEntry[]> {
  const target = await readlink(join(root, 'etc/localtime')).catch(() => '');
  if (!/^(?:\/|\.\.\/)usr\/share\/zoneinfo\/[\w/+-]+$/.test(target)) return [];
  return [{ kind: 'symlink', path: 'etc/localtime', target }];
}

/** What the machine calls its own system; a file that is meant to be read by everybody. */
async function readRelease(root: string): Promise<string> {
  const file = join(root, 'usr/lib/os-release');
  return existsSync(file) ? (await readFile(file, 'utf8')).slice(0, 8192) : 'unknown';
}
