import { existsSync } from 'node:fs';
import { maskedPaths } from '../../isolation/hidden-paths.ts';
import type { Filter } from './guest-volume.ts';

/** What differs between the engines that speak the Engine API. */
export interface EngineKind {
  readonly name: 'docker' | 'podman';
  /** As people call it. */
  readonly title: string;
  /** What gives it on Debian. */
  readonly package: string;
  /** What joins an ssh session on its machine to its socket. */
  readonly dialStdio: readonly string[];
  /** How it is told what shuts a container in, where that has no field of its own. */
  securityOptions(filter: Filter): string[];
  /** Where it is when nobody says. */
  host(env: Readonly<Record<string, string | undefined>>): string;
}

export const engineKinds: Readonly<Record<EngineKind['name'], EngineKind>> = {
  docker: {
    name: 'docker',
    title: 'Docker',
    package: 'docker.io',
    dialStdio: ['docker', 'system', 'dial-stdio'],
    securityOptions: ({ text }) => [`seccomp=${text}`],
    host: (env) => env.DOCKER_HOST || 'unix:///var/run/docker.sock',
  },
  podman: {
    name: 'podman',
    title: 'Podman',
    package: 'podman',
    dialStdio: ['podman', 'system', 'dial-stdio'],
    // It takes a file of its own machine, and knows of hidden paths by this alone.
    securityOptions: ({ path }) => [`seccomp=${path}`, `mask=${maskedPaths.join(':')}`],
    host(env) {
      if (env.CONTAINER_HOST) return env.CONTAINER_HOST;
      const own = `${env.XDG_RUNTIME_DIR ?? ''}/podman/podman.sock`;
      return env.XDG_RUNTIME_DIR && existsSync(own) ? `unix://${own}` : 'unix:///run/podman/podman.sock';
    },
  },
};
