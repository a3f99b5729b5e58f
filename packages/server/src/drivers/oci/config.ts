import { sandboxCapabilities } from '../../isolation/capabilities.ts';
import { maskedPaths, readonlyPaths } from '../../isolation/hidden-paths.ts';
import { seccompProfile } from '../../isolation/seccomp.ts';
import type { InstanceKey } from '../driver.ts';
import type { WritableMounts } from './read-only-root.ts';

export interface ConfigInput {
  readonly key: InstanceKey;
  readonly rootfs: { readonly path: string; readonly ids?: { readonly first: number; readonly count: number } };
  /** The guest program, and the folder with the socket that it dials. */
  readonly guest: { readonly program: string; readonly folder: string };
  readonly env: Readonly<Record<string, string>>;
  /** Where processes begin. */
  readonly directory: string;
  readonly cgroup: string;
  readonly resources: Record<string, unknown>;
  /** Not every runtime takes the filter: one with a kernel of its own lets no call through to ours. */
  readonly seccomp: boolean;
  /** With any, the root filesystem itself cannot be written. */
  readonly writable?: WritableMounts;
  /** Without the account that every sandbox has. */
  readonly isBare?: boolean;
}

/**
 * Where the guest is seen inside: in a filesystem that goes with the instance, so that nothing of it is ever found in a
 * snapshot, and nothing inside can change it.
 */
const inside = '/dev/.caisson';
export const insideProgram = `${inside}/guest`;

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What a runtime needs to know, in the form of the OCI runtime specification. Pure: the same input gives the same text. */
export function ociConfig(input: ConfigInput): Record<string, unknown> {
  const { key, rootfs, env } = input;
  return {
    ociVersion: '1.0.2',
    hostname: key.sandbox,
    root: { path: rootfs.path, readonly: (input.writable ?? []).length > 0 },
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: guestCommand(input),
      env: Object.entries({ PATH: path, ...env }).map(([name, value]) => `${name}=${value}`),
      cwd: '/',
      noNewPrivileges: true,
      capabilities: {
        bounding: sandboxCapabilities,
        effective: sandboxCapabilities,
        permitted: sandboxCapabilities,
        inheritable: [],
        ambient: [],
      },
    },
    mounts: mounts(input),
    linux: {
      cgroupsPath: input.cgroup,
      resources: input.resources,
      namespaces: namespaces(rootfs.ids !== undefined),
      ...idMappings(rootfs.ids),
      maskedPaths,
      readonlyPaths,
      ...(input.seccomp ? { seccomp: seccompProfile() } : {}),
    },
  };
}

function guestCommand({ key, directory, isBare = false }: ConfigInput): string[] {
  const { sandbox, incarnation } = key;
  const identity = ['--sandbox', sandbox, '--incarnation', String(incarnation)];
  // Its first secret comes on stdin: it is neither in a file nor in the list of processes.
  const channel = ['--socket', `${inside}/run/socket`, '--secret-fd', '0'];
  const account = isBare ? [] : ['--create-user'];
  return [insideProgram, 'guest', ...identity, ...channel, ...account, '--directory', directory];
}

function namespaces(withUser: boolean): { type: string }[] {
  const types = ['pid', 'mount', 'ipc', 'uts', 'cgroup', 'network'];
  return [...types, ...(withUser ? ['user'] : [])].map((type) => ({ type }));
}

function idMappings(ids: ConfigInput['rootfs']['ids']): Record<string, unknown> {
  if (!ids) return {};
  const mapping = [{ containerID: 0, hostID: ids.first, size: ids.count }];
  return { uidMappings: mapping, gidMappings: mapping };
}

function mounts({ guest, writable = [] }: ConfigInput): unknown[] {
  const quiet = ['nosuid', 'noexec', 'nodev'];
  return [
    ...writable,
    { destination: '/proc', type: 'proc', source: 'proc', options: quiet },
    // With room for the roots of trust that a sandbox with secrets has there, twice: a file is replaced, not written over.
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'strictatime', 'mode=755', 'size=2m'] },
    {
      destination: '/dev/pts',
      type: 'devpts',
      source: 'devpts',
      options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'],
    },
    { destination: '/dev/shm', type: 'tmpfs', source: 'shm', options: [...quiet, 'mode=1777', 'size=64m'] },
    { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: quiet },
    { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...quiet, 'ro'] },
    // Its own group, and read-only: programs find their limits there, and nothing to change.
    { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: [...quiet, 'relatime', 'ro'] },
    // A mount of its own: what is mounted on cannot be moved away, nor something else be put in its place.
    { destination: inside, type: 'tmpfs', source: 'tmpfs', options: [...quiet, 'mode=755', 'size=4k'] },
    { destination: insideProgram, type: 'bind', source: guest.program, options: ['bind', 'ro', 'nosuid', 'nodev'] },
    { destination: `${inside}/run`, type: 'bind', source: guest.folder, options: ['bind', 'ro', ...quiet] },
  ];
}
