import type { CreateRequest } from '../driver.ts';
import type { Engine } from './engine.ts';
import type { InstanceNames } from './instance-name.ts';

/**
 * The workspace of an instance whose root is read-only. An engine makes all of a container's own files read-only or none,
 * so it lies in a volume, which is named as the instance is and goes with it. It stays when the instance is stopped.
 */
export class WorkspaceVolumes {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** What is not there is removed already. */
  async remove({ workspace }: InstanceNames, signal: AbortSignal): Promise<void> {
    await this.#engine.call('DELETE', `/volumes/${workspace}`, { accept: [404], signal });
  }
}

/** As a container is told of it; the engine makes it with the container, with what the image has in its place. */
export function workspaceMount(
  { blueprint, labels }: CreateRequest,
  { workspace }: InstanceNames,
): Record<string, unknown> {
  const target = blueprint.runtime.workspaceRoot;
  const { 'caisson.papers': _, ...Labels } = labels;
  return { Type: 'volume', Source: workspace, Target: target, VolumeOptions: { Labels } };
}
