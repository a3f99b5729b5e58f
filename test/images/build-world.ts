import { readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NetworkRules } from '@caisson/contract';
import { type ResolvedImagePlan, resolvedImagePlanVersion } from '@caisson/workspace-composition';
import { type ControlPlane, openControlPlane } from '../../packages/server/src/control-plane.ts';
import { DataFolder } from '../../packages/server/src/data-folder.ts';
import type { BuildEvent, BuiltImage } from '../../packages/server/src/images/builders/builder.ts';
import type { StepLimits } from '../../packages/server/src/images/builders/native/do-step.ts';
import type { NativeBuilder } from '../../packages/server/src/images/builders/native/native-builder.ts';
import type { BaseImage } from '../../packages/server/src/images/images.ts';
import { machineArchitecture } from '../../packages/server/src/images/oci/platform.ts';
import { unmountPoolOf } from '../pools.ts';

export const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
export const openRules: NetworkRules = { mode: 'open', allow: [], deny: [], limits: {}, secrets: [] };
export const noNetwork: NetworkRules = { ...openRules, mode: 'off' };

type Step = ResolvedImagePlan['steps'][number];

/** A server without its ways in, whose Debian is that of all tests; what it builds is its own. */
export class BuildWorld {
  readonly folder: string;
  readonly base: BaseImage;
  readonly #storage: string;
  readonly #extraCa: string | undefined;
  #plane: { readonly data: DataFolder; readonly control: ControlPlane } | undefined;

  constructor(folder: string, base: BaseImage, storage = 'overlay', extraCa?: string) {
    this.#extraCa = extraCa;
    this.#storage = storage;
    this.folder = folder;
    this.base = base;
  }

  get control(): ControlPlane {
    if (!this.#plane) throw new Error('it is not started');
    return this.#plane.control;
  }

  get builder(): NativeBuilder {
    const { nativeBuilder } = this.control;
    if (!nativeBuilder) throw new Error('there is no builder');
    return nativeBuilder;
  }

  async start(): Promise<void> {
    const data = DataFolder.open(this.folder);
    const control = await openControlPlane(data, {
      version: '0.0.0',
      drivers: ['oci'],
      storage: { name: this.#storage },
      extraCa: this.#extraCa,
      // Only for those steps whose rules let them out at all.
      egress: { open: ['127.0.0.0/8'] },
    });
    this.#plane = { data, control };
  }

  async stop(): Promise<void> {
    await this.#plane?.control.close();
    this.#plane?.data.close();
    this.#plane = undefined;
  }

  async close(): Promise<void> {
    const runtime = this.#plane && this.#runtimeFolder();
    await this.stop();
    unmountPoolOf(this.folder);
    // A room that is still mounted keeps it from being removed.
    if (runtime !== undefined) rmdirSync(join(runtime, 'rootfs'));
    for (const folder of [runtime, this.folder]) if (folder) rmSync(folder, { recursive: true, force: true });
  }

  #runtimeFolder(): string {
    return join('/run/caisson', this.control.store.installation);
  }

  /** A plan on Debian with these setup steps. */
  plan(setup: readonly (string | Partial<Step>)[], more: Partial<ResolvedImagePlan> = {}): ResolvedImagePlan {
    const steps = setup.map((step, index) => ({
      ...{ id: `s${index}`, shell: 'sh' as const, workingDirectory: '/workspace', user: 'root', run: '' },
      ...(typeof step === 'string' ? { run: step } : step),
    }));
    return {
      version: resolvedImagePlanVersion,
      platform: { os: 'linux', architecture: machineArchitecture() as 'amd64' },
      os: { family: 'debian', release: 'bookworm' },
      base: { kind: 'rootfs-archive', reference: 'debian:bookworm', digest: this.base.digest as never },
      packages: [],
      users: [],
      env: {},
      steps,
      inputs: [],
      labels: {},
      ...more,
    } as ResolvedImagePlan;
  }

  async build(
    plan: ResolvedImagePlan,
    options: {
      rules?: NetworkRules;
      signal?: AbortSignal;
      context?: string;
      tenant?: string;
      limits?: Partial<StepLimits>;
      tell?: (event: BuildEvent) => void;
    } = {},
  ): Promise<{ image: BuiltImage; events: BuildEvent[] }> {
    const events: BuildEvent[] = [];
    const tell = (event: BuildEvent) => {
      events.push(event);
      options.tell?.(event);
    };
    const { rules = noNetwork, signal = new AbortController().signal, context, tenant = owner.tenant } = options;
    const builder = options.limits === undefined ? this.builder : this.builder.withLimits(options.limits);
    const image = await builder.build({ plan, owner: { ...owner, tenant }, rules, signal, context, tell });
    return { image, events };
  }

  /** What there is of rooms and of half-made layers; nothing when no build runs. */
  remains(): string[] {
    const runtime = this.#runtimeFolder();
    const places = [
      join(this.folder, 'images', 'making'),
      join(this.folder, 'storage', 'rootfs'),
      join(this.folder, 'storage', 'making'),
      join(this.folder, 'storage', 'trash'),
      join(runtime, 'rootfs'),
      join(runtime, 'oci', 'instances'),
    ];
    return places.flatMap((place) => namesIn(place).map((name) => join(place, name)));
  }
}

/** How each step ended. */
export function outcomes(events: readonly BuildEvent[]): string[] {
  return events.flatMap((event) => (event.kind === 'step-ended' ? [`${event.step} ${event.outcome}`] : []));
}

export function outputOf(events: readonly BuildEvent[]): string {
  return events.flatMap((event) => (event.kind === 'output' ? [event.text] : [])).join('');
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
