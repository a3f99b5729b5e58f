import { availableParallelism } from 'node:os';
import type { Backend, WorkspaceBlueprint } from '@caisson/contract';
import { type PayTerms, usualHoldMs } from '../store/meters.ts';
import type { SandboxSize } from '../store/sandbox-size.ts';
import { withHostDefaults } from './host-defaults.ts';
import type { WorkContext } from './work-context.ts';

/** What counts and is paid for: one without a limit of processors may use all of its host. */
export function sizeOf({ runtime }: Pick<WorkspaceBlueprint, 'runtime'>): SandboxSize {
  const { cpus = availableParallelism(), memoryMiB = 0, diskMiB = 0 } = withHostDefaults(runtime.resources);
  return { cpuMillis: Math.round(cpus * 1000), memoryMiB, diskMiB };
}

/** What a sandbox of this size costs on a backend, for a tenant that pays. */
export function termsOf({ rates }: Pick<WorkContext, 'rates'>, backend: Backend, size: SandboxSize): PayTerms {
  return { rates: rates?.(backend, size) ?? null, holdMs: usualHoldMs };
}
