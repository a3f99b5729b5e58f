import type { BuildStep } from '../../plan/build-steps.ts';
import type { BuildEvent } from '../builder.ts';
import { StepLog } from '../step-log.ts';
import type { Progress, Vertex } from './control.ts';

/** What is known of one step. */
interface Standing {
  readonly log: StepLog;
  began: boolean;
  ended: boolean;
  vertex: Vertex | undefined;
}

/** `[3/7] RUN …`, or `[ 3/17]`, with the name of a stage before it where there are several. */
const nameForm = /^\[(?:\S+ )? *(\d+)\/(\d+)\] /;
/** The base is counted among the steps, and mostly has the first number. */
const usualFirst = 2;

/**
 * From what BuildKit says of its parts to what happens to the steps of a plan. BuildKit may take up a part again after it
 * called it complete, so a step is told to be over when the next one begins, or the build ends.
 */
export class StepProgress {
  readonly #steps: readonly BuildStep[];
  readonly #standings: readonly Standing[];
  readonly #tell: (event: BuildEvent) => void;
  readonly #byDigest = new Map<string, number>();
  readonly #first: number;

  /** `first`: the number that BuildKit gives to the first step. */
  constructor(
    steps: readonly BuildStep[],
    tell: (event: BuildEvent) => void,
    logBytes: number,
    first: number = usualFirst,
  ) {
    this.#first = first;
    this.#steps = steps;
    this.#tell = tell;
    this.#standings = steps.map(({ id }) => ({
      log: new StepLog((text) => tell({ kind: 'output', step: id, text }), logBytes),
      began: false,
      ended: false,
      vertex: undefined,
    }));
  }

  take({ vertices, logs }: Progress): void {
    for (const vertex of vertices) this.#takeVertex(vertex);
    this.#advance();
    for (const { vertex, bytes } of logs) {
      const index = this.#byDigest.get(vertex);
      if (index !== undefined) this.#standings[index]?.log.push('stdout', bytes);
    }
  }

  /** The build is over, well or not. Tells the rest; answers the step that failed, where one did. */
  end(isFailure: boolean): FailedStep | undefined {
    const broken = this.#standings.findIndex(({ vertex }) => vertex?.error);
    // Where the engine went away in the middle, no part says of itself that it failed.
    const failed = !isFailure
      ? -1
      : broken >= 0
        ? broken
        : this.#standings.findIndex(({ began, ended }) => began && !ended);
    for (const [index, standing] of this.#standings.entries()) {
      if (failed >= 0 && index > failed) break;
      if (!standing.began && index !== failed && isFailure) continue;
      this.#begin(index);
      this.#end(index, index === failed);
    }
    const [step, standing] = [this.#steps[failed], this.#standings[failed]];
    if (!step || !standing) return undefined;
    return { step, lastLines: standing.log.lastLines, words: standing.vertex?.error ?? '' };
  }

  #takeVertex(vertex: Vertex): void {
    const [, at, all] = nameForm.exec(vertex.name) ?? [];
    const index = Number(at) - this.#first;
    const standing = this.#standings[index];
    if (!standing || Number(all) !== this.#steps.length + 1) return;
    this.#byDigest.set(vertex.digest, index);
    standing.vertex = vertex;
  }

  /** Each step stands on the one before: whatever the order of what is said, they are told in theirs. */
  #advance(): void {
    for (const [index, { began, vertex }] of this.#standings.entries()) {
      if (!began && vertex?.started === undefined && !vertex?.isCached) return;
      this.#begin(index);
      const next = this.#standings[index + 1]?.vertex;
      const isOver = vertex?.completed !== undefined && vertex.error === '';
      if (!isOver || (next?.started === undefined && !next?.isCached)) return;
      this.#end(index, false);
    }
  }

  #begin(index: number): void {
    const [step, standing] = [this.#steps[index], this.#standings[index]];
    if (!step || !standing || standing.began) return;
    standing.began = true;
    this.#tell({ kind: 'step-began', step: step.id, title: step.title });
  }

  #end(index: number, isFailed: boolean): void {
    const [step, standing] = [this.#steps[index], this.#standings[index]];
    if (!step || !standing || standing.ended) return;
    standing.ended = true;
    standing.log.end();
    const { vertex } = standing;
    const ms = Math.max(0, Math.round((vertex?.completed ?? 0) - (vertex?.started ?? vertex?.completed ?? 0)));
    const outcome = isFailed ? 'failed' : vertex?.isCached ? 'cached' : 'done';
    this.#tell({ kind: 'step-ended', step: step.id, outcome, ms });
  }
}

export interface FailedStep {
  readonly step: BuildStep;
  readonly lastLines: readonly string[];
  /** What BuildKit said of it. */
  readonly words: string;
}
