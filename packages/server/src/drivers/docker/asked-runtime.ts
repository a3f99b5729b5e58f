import { posix } from 'node:path';
import { CaissonError, type WorkspaceBlueprint } from '@caisson/contract';
import type { Engine } from './engine.ts';
import { runtimeForm } from './engine-answers.ts';
import type { EngineKind } from './engine-kind.ts';

/** A runtime that somebody asked for by name. Undefined where any will do. */
export function askedRuntime({ runtime }: WorkspaceBlueprint): string | undefined {
  return runtime.ociRuntime === 'auto' ? undefined : runtime.ociRuntime;
}

/**
 * Refuses a container that was made under another runtime than somebody asked for, before anything runs in it: an engine
 * may pass over the name without a word, and what was to have a kernel of its own would run on the host's.
 */
export async function requireRuntime(
  engine: Engine,
  kind: EngineKind,
  container: string,
  asked: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (asked === undefined) return;
  const call = { form: runtimeForm, accept: [404], withinMs: 10_000, signal };
  const { status, body } = await engine.call('GET', kind.runtimePath(container), call);
  const given = status === 404 ? undefined : (body.OCIRuntime ?? body.HostConfig?.Runtime ?? undefined);
  if (given !== undefined && posix.basename(given) === asked) return;
  const what = given === undefined ? 'does not say which one it took' : `took ${given}`;
  throw new CaissonError(
    'driver_failed',
    `${kind.title} was asked for the runtime ${asked} and ${what}: it is not started`,
    {
      hint: `Make ${asked} the default runtime of ${kind.title}, or use a backend that has it; \`caisson route explain\` shows which.`,
    },
  );
}
