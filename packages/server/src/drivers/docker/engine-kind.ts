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
  /** Which of the runtimes that it lists a container can be made under, beside its default. */
  runtimes(listed: readonly string[], byDefault: string | undefined): readonly string[];
  /** Where it tells under which runtime a container was made. */
  runtimePath(container: string): string;
  /** How it is told of variables, and of those of the image that are not to be there: a commit has all that there were. */
  environment(env: Readonly<Record<string, string>>, unset: readonly string[]): Record<string, unknown>;
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
    runtimes: (listed) => listed,
    runtimePath: (container) => `/containers/${container}/json`,
    // A name alone takes it away.
    environment: (env, unset) => ({ Env: [...assignments(env), ...unset] }),
    host: (env) => env.DOCKER_HOST || 'unix:///var/run/docker.sock',
  },
  podman: {
    name: 'podman',
    title: 'Podman',
    package: 'podman',
    dialStdio: ['podman', 'system', 'dial-stdio'],
    // It takes a file of its own machine, and knows of hidden paths by this alone.
    securityOptions: ({ path }) => [`seccomp=${path}`, `mask=${maskedPaths.join(':')}`],
    // It lists all that it has heard of, and makes every container under its default, whatever it is asked for.
    runtimes: (_listed, byDefault) => (byDefault === undefined ? [] : [byDefault]),
    runtimePath: (container) => `/v4.0.0/libpod/containers/${container}/json`,
    // A name alone would be taken from the environment of its service.
    environment: (env, unset) => ({ Env: assignments(env), UnsetEnv: [...unset] }),
    host(env) {
      if (env.CONTAINER_HOST) return env.CONTAINER_HOST;
      const own = `${env.XDG_RUNTIME_DIR ?? ''}/podman/podman.sock`;
      return env.XDG_RUNTIME_DIR && existsSync(own) ? `unix://${own}` : 'unix:///run/podman/podman.sock';
    },
  },
};

function assignments(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}
