import type { NetworkRules, Owner } from '@caisson/contract';
import type { ImageLayers } from '../../../storage/storage.ts';
import type { BuilderTrouble } from '../builder.ts';
import type { StepExit } from '../step-failure.ts';

/**
 * A room is where one step of a build is done: a sandbox of ours on the layers that the steps before it left.
 *
 * Laws
 * 1. A room is nobody's sandbox: it is in no list, and after a `kill -9` of the server nothing of it remains.
 * 2. What runs in it reaches the outside through the rules of its request alone, and no secret is put in on the way.
 * 3. `changes` shows what the step did and nothing else: what the room itself needs inside leaves no trace in the tree.
 * 4. `dispose` is idempotent, ends whatever still runs, and never fails: what cannot be removed now is later.
 *
 * Example
 *
 *   const room = await rooms.open({ parent, env, owner, rules, diskBytes }, signal);
 *   try {
 *     const exit = await room.run({ interpreter: ['/bin/sh'], script, user: 'root', … }, signal);
 *     if (exit.code === 0) await room.changes((folder) => pack(folder), signal);
 *   } finally {
 *     await room.dispose();
 *   }
 */
export interface StepRooms {
  /** Why there can be none here; undefined where there can. */
  probe(signal: AbortSignal): Promise<BuilderTrouble | undefined>;
  open(request: RoomRequest, signal: AbortSignal): Promise<StepRoom>;
}

export interface RoomRequest {
  readonly parent: ImageLayers;
  /** Of everything that runs in it. */
  readonly env: Readonly<Record<string, string>>;
  readonly owner: Owner;
  readonly rules: NetworkRules;
  /** The most that the step may change. */
  readonly diskBytes: number;
}

export interface StepRoom {
  run(command: RoomCommand, signal: AbortSignal): Promise<StepExit>;
  /** Unpacks a plain tar in a folder of the room; it and what is above it are made where they are not there, as the user's. */
  put(folder: string, archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** What there is no space left on: the room's own disk, or that of all rooms and sandboxes. */
  shortage(signal: AbortSignal): Promise<'disk' | 'pool' | undefined>;
  /** Ends everything that runs, for good, and shows what differs from the parent as an overlay keeps it. */
  changes<T>(use: (folder: string) => Promise<T>, signal: AbortSignal): Promise<T>;
  dispose(): Promise<void>;
}

export interface RoomCommand {
  /** The program that reads the script, and ends at its first command that fails. */
  readonly interpreter: readonly [string, ...string[]];
  readonly script: string;
  readonly user: string;
  readonly directory: string;
  /** Besides those of the room. */
  readonly env: Readonly<Record<string, string>>;
  readonly limitMs: number;
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void;
}
