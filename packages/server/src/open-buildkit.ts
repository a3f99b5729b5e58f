import type { Engines } from './backends.ts';
import { parseEndpoint } from './drivers/docker/endpoint.ts';
import { Engine } from './drivers/docker/engine.ts';
import { engineKinds } from './drivers/docker/engine-kind.ts';
import { defaultBounds } from './images/bounds.ts';
import type { Builder } from './images/builders/builder.ts';
import type { BuildPlace } from './images/builders/buildkit/build-place.ts';
import { BuildkitBuilder } from './images/builders/buildkit/buildkit-builder.ts';
import { DaemonPlace } from './images/builders/buildkit/daemon-place.ts';
import { EnginePlace } from './images/builders/buildkit/engine-place.ts';
import type { BuildLimits } from './images/builders/buildkit/run-build.ts';
import type { StepTrust } from './images/builders/buildkit/step-runner.ts';
import type { Images } from './images/images.ts';
import { Packer } from './images/pack/packer.ts';
import type { EgressGates } from './network/proxy/egress-gates.ts';
import { proxyEnv, proxyPorts } from './network/proxy-ports.ts';
import { trustEnvironment, trustFiles } from './network/secrets/trust.ts';
import { buildWays } from './sandbox/building/build-ways.ts';
import type { RoomSubjects } from './sandbox/building/room-subjects.ts';

export const builderNames = ['auto', 'native', 'buildkit'] as const;
export type BuilderName = (typeof builderNames)[number];

export interface BuildkitWiring {
  readonly images: Images | undefined;
  readonly guestProgram: () => string;
  readonly engines: Engines;
  readonly installation: string;
  readonly gates: Pick<EgressGates, 'admit' | 'forget'>;
  readonly subjects: RoomSubjects;
  readonly wanted?: BuilderName | undefined;
  /** An authority that steps trust besides those of their image, as PEM. */
  readonly authority?: string | undefined;
  readonly limits?: Partial<BuildLimits> | undefined;
}

/** The builder that needs a BuildKit somewhere; undefined where this server has no images. Nothing is asked before a build. */
export function openBuildkitBuilder(
  wiring: BuildkitWiring,
): { readonly builder: BuildkitBuilder; close(): void } | undefined {
  const { images, engines, installation, gates, subjects, authority, limits } = wiring;
  if (!images) return undefined;
  const packer = new Packer(wiring.guestProgram(), defaultBounds);
  const place = openPlace(engines, packer, installation, wiring.wanted === 'buildkit');
  if (!place) return undefined;
  const proxy = { ports: proxyPorts, env: proxyEnv };
  const trust = authority === undefined ? undefined : stepTrust(authority);
  const builder = new BuildkitBuilder({ images, place, proxy, trust, openWay: buildWays(gates, subjects), limits });
  return { builder, close: () => place.close() };
}

export function stepTrust(authority: string): StepTrust {
  return { env: trustEnvironment, files: (folder, roots) => trustFiles(authority, roots, folder) };
}

/** An address that nobody meant for us, as DOCKER_HOST may be, is no reason not to start. */
function openPlace(
  { dockerHost, buildkitHost, certFolder }: Engines,
  packer: Packer,
  installation: string,
  isWanted: boolean,
): BuildPlace | undefined {
  const { docker } = engineKinds;
  try {
    if (buildkitHost !== undefined) return new DaemonPlace(parseEndpoint(buildkitHost, { certFolder }), packer);
    const endpoint = parseEndpoint(dockerHost ?? docker.host(process.env), { certFolder });
    return new EnginePlace(new Engine(endpoint, docker.dialStdio), packer, installation);
  } catch (error) {
    if (isWanted) throw error;
    return undefined;
  }
}

/** The one that was asked for; of several the native one, which needs nothing else. */
export function chooseBuilder(builders: readonly Builder[], wanted: BuilderName = 'auto'): Builder | undefined {
  if (wanted !== 'auto') return builders.find(({ name }) => name === wanted);
  return builders.find(({ name }) => name === 'native') ?? builders[0];
}
