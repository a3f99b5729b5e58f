import type { CgroupLayout } from './cgroup.ts';

export const runtimeNames = ['crun', 'runc', 'runsc'] as const;
export type RuntimeName = (typeof runtimeNames)[number];

/** What has to be known about a runtime beyond the command line that they share. */
export interface KnownRuntime {
  /** Options before the verb; several sets where versions differ, of which the first that works is taken. */
  readonly options: readonly [readonly string[], ...(readonly string[])[]];
  /** Whether our filter of calls applies, or a kernel of its own stands between. */
  readonly seccomp: boolean;
  readonly userNamespace: boolean;
  /** Whether it pauses with the control group, where everybody can see it. */
  readonly freezesGroup: boolean;
  readonly isolation: 'namespaces' | 'user-kernel';
  /** What gives it on Debian. */
  readonly package: string;
  /** What to run it under, on machines where it would refuse; `guestProgram` is our own program. */
  wrapper(layout: CgroupLayout, hostProgram: string): readonly string[];
}

/** The first that works here is taken where nobody asks for one: quickest first. One with a kernel of its own is asked for. */
export const knownRuntimes: Readonly<Record<RuntimeName, KnownRuntime>> = {
  crun: {
    options: [[]],
    seccomp: true,
    userNamespace: true,
    freezesGroup: true,
    isolation: 'namespaces',
    package: 'crun',
    // It refuses to start where there is a tree of each kind.
    wrapper: (layout, hostProgram) => (layout === 'hybrid' ? [hostProgram, 'without', '/sys/fs/cgroup/unified'] : []),
  },
  runc: {
    options: [[]],
    seccomp: true,
    userNamespace: true,
    freezesGroup: true,
    isolation: 'namespaces',
    package: 'runc',
    wrapper: () => [],
  },
  runsc: {
    // No network; the guest's socket is outside of its kernel. Then the versions that call that differently, whose only
    // platform without KVM is the older one.
    options: [
      ['--network=none', '--host-uds=open'],
      ['--platform=ptrace', '--network=none', '--fsgofer-host-uds'],
    ],
    seccomp: false,
    userNamespace: false,
    freezesGroup: false,
    isolation: 'user-kernel',
    package: 'runsc',
    wrapper: () => [],
  },
};

export function isRuntimeName(name: string): name is RuntimeName {
  return (runtimeNames as readonly string[]).includes(name);
}
