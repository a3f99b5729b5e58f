import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { Packer } from '../../pack/packer.ts';
import type { BuildStep, CopyStep, RunStep } from '../../plan/build-steps.ts';
import type { Workshop } from '../../ways/workshop.ts';
import { failedRun, speaksOfNoSpace } from '../step-failure.ts';
import { StepLog } from '../step-log.ts';
import type { RoomRequest, StepRoom, StepRooms } from './step-room.ts';

export interface StepLimits {
  /** How long one step may take. A build of a large program takes long; one that waits for a key press takes for ever. */
  readonly stepMs: number;
  /** What of its output is told. */
  readonly logBytes: number;
  /** What one step may change. */
  readonly diskBytes: number;
}

export interface StepParts {
  readonly rooms: StepRooms;
  readonly packer: Packer;
  readonly workshop: Workshop;
  readonly limits: StepLimits;
  /** Is given each room when it is done with, and sees to its end while the next step is at work. */
  readonly release: (room: StepRoom) => void;
}

export interface StepTask {
  readonly step: BuildStep;
  readonly room: RoomRequest;
  readonly directory: string;
  readonly planEnv: Readonly<Record<string, string>>;
  /** The folder that a `copy` step brings in. */
  readonly content?: string | undefined;
}

/** Does a step in a room of its own and makes a layer of what it changed. Null where it changed nothing. */
export async function doStep(
  parts: StepParts,
  task: StepTask,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<string | null> {
  const { packer, workshop, release } = parts;
  const room = await parts.rooms.open(task.room, signal);
  try {
    const { step } = task;
    if (step.kind === 'run') await runStep(parts, task, step, room, signal, say);
    else {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(parts.limits.stepMs)]);
      await room.put(step.to, packer.openContent(requireContent(task, step), limited), limited);
    }
    return await room.changes(async (folder) => {
      if ((await readdir(folder)).length === 0) return null;
      return (await workshop.layers.add(packer.open(folder, signal), signal)).diffId;
    }, signal);
  } catch (error) {
    await room.dispose();
    throw error;
  } finally {
    release(room);
  }
}

async function runStep(
  { limits }: StepParts,
  { directory, planEnv }: StepTask,
  step: RunStep,
  room: StepRoom,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<void> {
  const log = new StepLog(say, limits.logBytes);
  const exit = await room.run(
    {
      interpreter: step.shell === 'sh' ? ['/bin/sh'] : ['/usr/bin/env', 'bash'],
      script: step.script,
      user: step.user,
      directory,
      env: step.withEnv ? planEnv : {},
      limitMs: limits.stepMs,
      onOutput: (stream, chunk) => log.push(stream, chunk),
    },
    signal,
  );
  log.end();
  if (exit.why === 'exited' && exit.code === 0) return;
  const { lastLines } = log;
  const found = exit.why === 'timed_out' ? undefined : await room.shortage(signal);
  const shortage = found ?? (speaksOfNoSpace(lastLines) ? 'disk' : undefined);
  throw failedRun({ step, exit, lastLines, limitMs: limits.stepMs, shortage });
}

/** The folder of the build context that a step brings in. */
export async function contentOf(step: CopyStep, context: string | undefined): Promise<string> {
  const folder = context === undefined ? undefined : join(context, step.from);
  const found = folder === undefined ? undefined : await lstat(folder).catch(() => undefined);
  if (folder !== undefined && found?.isDirectory()) return folder;
  throw new CaissonError('build_failed', `${step.from} is not in the build context`, { context: { step: step.id } });
}

function requireContent({ content }: StepTask, step: CopyStep): string {
  if (content === undefined) throw new CaissonError('internal', `nobody looked for ${step.from}`);
  return content;
}
