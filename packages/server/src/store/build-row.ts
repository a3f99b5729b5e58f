import type { Build, BuildError, BuildState, BuildStepRecord, Id } from '@caisson/contract';
import type { Selectable } from 'kysely';
import { isoTime, rowOwner } from './sandbox-row.ts';
import type { BuildTable } from './schema.ts';

export type BuildRow = Selectable<BuildTable>;

/** Everything of a build but its plan and what is inside its image, which may be large. */
export const buildColumns = [
  'id',
  'tenant',
  'project',
  'principal',
  'scope',
  'plan_digest',
  'state',
  'builder',
  'tries',
  'steps',
  'error',
  'image',
  'log_bytes',
  'left_out_bytes',
  'created_at',
  'started_at',
  'ended_at',
] as const satisfies readonly (keyof BuildTable)[];

export function toBuild(row: Pick<BuildRow, (typeof buildColumns)[number]>): Build {
  return {
    id: row.id as Id<'build'>,
    owner: rowOwner(row),
    state: row.state as BuildState,
    planDigest: row.plan_digest,
    builder: row.builder,
    tries: row.tries,
    steps: JSON.parse(row.steps) as BuildStepRecord[],
    error: row.error === null ? null : (JSON.parse(row.error) as BuildError),
    image: row.image,
    logBytes: row.log_bytes,
    leftOutBytes: row.left_out_bytes,
    createdAt: isoTime(row.created_at),
    startedAt: isoTime(row.started_at),
    endedAt: isoTime(row.ended_at),
  };
}
