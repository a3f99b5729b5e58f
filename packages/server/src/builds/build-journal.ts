import type { BuildLogItem, BuildStepRecord, Id } from '@caisson/contract';
import type { BuildEvent } from '../images/builders/builder.ts';
import type { LogPart } from '../store/build-log.ts';
import type { Store } from '../store/store.ts';

export interface JournalBounds {
  /** Of the log's beginning and of its end, so much is kept. */
  readonly headBytes: number;
  readonly tailBytes: number;
  /** Between two writes no more than this waits: what floods is thinned out before it costs anything. */
  readonly waitingBytes: number;
}

export const defaultJournalBounds: JournalBounds = {
  headBytes: 8 * 1024 * 1024,
  tailBytes: 8 * 1024 * 1024,
  waitingBytes: 256 * 1024,
};

/** As often as a person can follow; each time costs a write. */
const everyMs = 150;
/** Of what comes too fast the end is kept, so large a part of what may wait: mostly it says why a flood ended. */
const endShare = 1 / 8;
const maxSteps = 500;

interface Kept {
  readonly position: number;
  readonly bytes: number;
}

/**
 * Writes what happens in one try of a build, as it happens. The head and the tail of a long log are kept; where
 * something is left out the log says so, and how much. It never fails: a log that cannot be written is no reason to fail
 * a build, and the next write has what this one had not.
 */
export class BuildJournal {
  readonly #store: Store;
  readonly #build: Id<'build'>;
  readonly #bounds: JournalBounds;
  readonly #wake: () => void;
  readonly #steps: BuildStepRecord[] = [];
  #waiting: LogPart['item'][] = [];
  #waitingBytes = 0;
  #thinned = 0;
  /** The latest of what came too fast. */
  #end: LogPart['item'][] = [];
  #endBytes = 0;
  #position: number;
  #headBytes = 0;
  #tail: Kept[] = [];
  #tailBytes = 0;
  /** Where it is told that something was left out. */
  #gap: number | undefined;
  #logBytes = 0;
  #leftOutBytes = 0;
  #isDirty = false;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** `wake` is called after each write, for those who follow. */
  constructor(
    store: Store,
    build: Id<'build'>,
    begins: { readonly position: number; readonly logBytes: number },
    wake: () => void,
    bounds: JournalBounds = defaultJournalBounds,
  ) {
    this.#store = store;
    this.#build = build;
    this.#position = begins.position;
    this.#logBytes = begins.logBytes;
    this.#headBytes = Math.min(begins.logBytes, bounds.headBytes);
    this.#wake = wake;
    this.#bounds = bounds;
  }

  readonly tell = (event: BuildEvent): void => {
    if (event.kind === 'step-began') this.#began(event.step, event.title);
    else if (event.kind === 'step-ended') this.#ended(event.step, event.outcome, event.ms);
    else this.#output(event.step, event.text);
    this.#later();
  };

  readonly note = (text: string): void => {
    this.#put({ kind: 'note', step: null, text });
    this.#later();
  };

  /** Writes everything, with how it ended when nothing comes after it. */
  async end(outcome?: string): Promise<void> {
    for (const [at, step] of this.#steps.entries())
      if (step.state === 'running') this.#steps[at] = { ...step, state: outcome === 'failed' ? 'failed' : 'stopped' };
    if (outcome !== undefined) this.#put({ kind: 'ended', step: null, text: '', outcome });
    this.#isDirty = true;
    await this.#write();
  }

  #began(id: string, title: string): void {
    const step = { id, title: title.slice(0, 200), state: 'running', startedAt: new Date().toISOString(), ms: null };
    if (this.#steps.length < maxSteps) this.#steps.push(step as BuildStepRecord);
    this.#put({ kind: 'step-began', step: id, text: step.title });
  }

  #ended(id: string, outcome: 'done' | 'cached' | 'failed', ms: number): void {
    const at = this.#steps.findLastIndex((step) => step.id === id);
    const step = this.#steps[at];
    if (step) this.#steps[at] = { ...step, state: outcome, ms: Math.round(ms) };
    this.#put({ kind: 'step-ended', step: id, text: step?.title ?? id, outcome, ms: Math.round(ms) });
  }

  #output(step: string, text: string): void {
    this.#logBytes += Buffer.byteLength(text);
    const isMuch = this.#waitingBytes + text.length > this.#bounds.waitingBytes;
    // Once something is held back, what follows is too: a log is in order.
    if (!isMuch && this.#end.length === 0) {
      this.#put({ kind: 'output', step, text });
      return;
    }
    this.#end.push({ time: new Date().toISOString(), kind: 'output', step, text });
    this.#endBytes += text.length;
    this.#isDirty = true;
    while (this.#endBytes > this.#bounds.waitingBytes * endShare) {
      const gone = this.#end.shift()?.text ?? '';
      this.#endBytes -= gone.length;
      this.#thinned += Buffer.byteLength(gone);
    }
  }

  #put(item: Omit<BuildLogItem, 'position' | 'time'>): void {
    this.#settle();
    this.#waiting.push({ time: new Date().toISOString(), ...item });
    this.#waitingBytes += item.text.length;
    this.#isDirty = true;
  }

  /** What came too fast takes its place: how much of it is left out, and its end. */
  #settle(): void {
    if (this.#thinned > 0) {
      this.#leftOutBytes += this.#thinned;
      const text = `… ${this.#thinned} bytes came faster than they can be kept, and are left out`;
      this.#waiting.push({ time: new Date().toISOString(), kind: 'note', step: null, text });
    }
    this.#waiting.push(...this.#end);
    this.#waitingBytes += this.#endBytes;
    this.#thinned = 0;
    this.#end = [];
    this.#endBytes = 0;
  }

  #later(): void {
    this.#timer ??= setTimeout(() => void this.#write(), everyMs);
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#flush()).catch(() => {});
    return this.#writing;
  }

  async #flush(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    this.#settle();
    const items = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    const parts = items.map((item) => this.#place(item));
    await this.#store.buildLog.append(this.#build, parts);
    await this.#trim();
    const progress = { steps: this.#steps, logBytes: this.#logBytes, leftOutBytes: this.#leftOutBytes };
    await this.#store.builds.tell(this.#build, progress);
    this.#wake();
  }

  #place(item: LogPart['item']): LogPart {
    this.#position += 1;
    const bytes = Buffer.byteLength(item.text);
    if (this.#headBytes + bytes <= this.#bounds.headBytes && this.#tail.length === 0) this.#headBytes += bytes;
    else {
      // The first place after the head is where a gap would be told.
      if (this.#gap === undefined) {
        this.#gap = this.#position;
        this.#position += 1;
      }
      this.#tail.push({ position: this.#position, bytes });
      this.#tailBytes += bytes;
    }
    return { position: this.#position, bytes, item };
  }

  /** What the tail has too much of goes, oldest first, and the place before it says how much that is by now. */
  async #trim(): Promise<void> {
    let gone = 0;
    while (this.#tailBytes - gone > this.#bounds.tailBytes && this.#tail.length > 1) {
      gone += this.#tail.shift()?.bytes ?? 0;
    }
    const [first] = this.#tail;
    if (gone === 0 || this.#gap === undefined || !first) return;
    this.#tailBytes -= gone;
    this.#leftOutBytes += gone;
    const text = `… ${this.#leftOutBytes} bytes are left out here: a log keeps its beginning and its end`;
    const note = { time: new Date().toISOString(), kind: 'note', step: null, text } as const;
    await this.#store.buildLog.append(this.#build, [{ position: this.#gap, bytes: 0, item: note }]);
    await this.#store.buildLog.leaveOut(this.#build, this.#gap, first.position);
  }
}
