import type { Engine } from './engine.ts';
import { infoForm, versionForm } from './engine-answers.ts';
import type { EngineKind } from './engine-kind.ts';

/** What is known of an engine before anything is asked of it. */
export interface EngineFacts {
  readonly version: string;
  readonly os: string;
  /** As Node names it. */
  readonly architecture: string;
  readonly processors: number;
  /** Those that a container of ours can be made under. */
  readonly runtimes: readonly string[];
  readonly storageDriver: string;
  /** What that lies on, where it says so. */
  readonly backingFilesystem: string | undefined;
  /** Whether it shifts the ids of all of its containers. */
  readonly userNamespace: boolean;
}

/** As engines and kernels call it → as Node does. */
const architectures: Readonly<Record<string, string>> = {
  x86_64: 'x64',
  amd64: 'x64',
  aarch64: 'arm64',
  arm64: 'arm64',
};
const factsMs = 10_000;
/** By its full name containerd's own shim is there besides; nobody asks for it by that. */
const isAsked = (runtime: string) => !runtime.startsWith('io.containerd.');

export async function readFacts(engine: Engine, kind: EngineKind, signal: AbortSignal): Promise<EngineFacts> {
  const options = { signal, withinMs: factsMs };
  const [version, info] = await Promise.all([
    engine.call('GET', '/version', { ...options, form: versionForm }),
    engine.call('GET', '/info', { ...options, form: infoForm }),
  ]);
  const { Version, Os, Arch } = version.body;
  const { NCPU, Driver, DriverStatus, Runtimes, DefaultRuntime, SecurityOptions } = info.body;
  return {
    version: Version,
    os: Os,
    architecture: architectures[Arch] ?? Arch,
    processors: NCPU,
    runtimes: kind.runtimes(Object.keys(Runtimes ?? {}), DefaultRuntime ?? undefined).filter(isAsked),
    storageDriver: Driver,
    backingFilesystem: (DriverStatus ?? []).find(([name]) => name === 'Backing Filesystem')?.[1]?.toLowerCase(),
    userNamespace: (SecurityOptions ?? []).some((option) => /\b(userns|rootless)\b/.test(option)),
  };
}

/** Why nothing of ours can run there; undefined when it can. */
export function whyUnfit({ os, architecture }: EngineFacts, own: string = process.arch): string | undefined {
  if (os !== 'linux') return `the engine runs containers of ${os}, and sandboxes are Linux`;
  if (architecture !== own) return `the engine's machine is ${architecture}, and this server has a guest for ${own}`;
  return undefined;
}
