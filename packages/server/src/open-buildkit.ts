import type { Engines } from './backends.ts';
import { parseEndpoint } from './drivers/docker/endpoint.ts';
import { Engine } from './drivers/docker/engine.ts';
import { engineKinds } from './drivers/docker/engine-kind.ts';
import { defaultBounds } from './images/bounds.ts';
import type { Builder } from './images/builders/builder.ts';
import { BuildkitBuilder } from './images/builders/buildkit/buildkit-builder.ts';
import { EnginePlace } from './images/builders/buildkit/engine-place.ts';
import type { BuildLimits } from './images/builders/buildkit/run-build.ts';
import type { Images } from './images/images.ts';
import { Packer } from './images/pack/packer.ts';
import type { EgressGates } from './network/proxy/egress-gates.ts';
import { proxyEnv, proxyPorts } from './network/proxy-ports.ts';
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
  readonly limits?: Partial<BuildLimits> | undefined;
}

/** The builder that needs a BuildKit somewhere; undefined where this server has no images. Nothing is asked before a build. */
export function openBuildkitBuilder(
  wiring: BuildkitWiring,
): { readonly builder: BuildkitBuilder; close(): void } | undefined {
  const { images, engines, installation, gates, subjects, limits } = wiring;
  if (!images) return undefined;
  const engine = openEngine(engines, wiring.wanted === 'buildkit');
  if (!engine) return undefined;
  const place = new EnginePlace(engine, new Packer(wiring.guestProgram(), defaultBounds), installation);
  const proxy = { ports: proxyPorts, env: proxyEnv };
  const builder = new BuildkitBuilder({ images, place, proxy, openWay: buildWays(gates, subjects), limits });
  return { builder, close: () => place.close() };
}

/** An address that nobody meant for us, as DOCKER_HOST may be, is no reason not to start. */
function openEngine({ dockerHost, certFolder }: Engines, isWanted: boolean): Engine | undefined {
  const { docker } = engineKinds;
  try {
    return new Engine(parseEndpoint(dockerHost ?? docker.host(process.env), { certFolder }), docker.dialStdio);
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
