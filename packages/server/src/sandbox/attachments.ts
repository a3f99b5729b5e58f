import { CaissonError } from '@caisson/contract';
import { type GuestClient, type ProcessHandle, ProcessInput } from '@caisson/guest';

/** A guest gives each output stream to one reader; an attachment is whoever has it now. */
export interface Attachment {
  readonly process: ProcessHandle;
  /** Aborted with `attachment_taken` when somebody else takes the output over. */
  readonly taken: AbortSignal;
  /** Lets go of the output. The process is not touched. */
  release(): void;
}

interface Held extends Attachment {
  readonly takeOver: AbortController;
}

interface SharedInput {
  readonly input: ProcessInput;
  users: number;
  timer?: NodeJS.Timeout | undefined;
}

interface Of {
  readonly outputs: Map<string, Held>;
  readonly inputs: Map<string, SharedInput>;
}

/** A client whose connection broke is back within this, and finds how much of its input counted. */
const inputKeptMs = 60_000;

/**
 * Who reads the output of which process, and the one way into its stdin.
 *
 * Laws
 * - The newest reader has the output: a client that comes back must not be refused because of its own dead connection.
 * - All writers of one process share one input, so that what was accepted before a connection broke counts once.
 */
export class Attachments {
  readonly #guests = new WeakMap<GuestClient, Of>();

  /** Attaches to a process from the given offsets, and takes it from whoever was attached. */
  take(guest: GuestClient, id: string, from: { readonly stdout: number; readonly stderr: number }): Attachment {
    this.#of(guest).outputs.get(id)?.takeOver.abort(new CaissonError('attachment_taken'));
    return this.hold(guest, guest.processes.attach(id, from));
  }

  /** The attachment that a process just started with already has. */
  hold(guest: GuestClient, process: ProcessHandle): Attachment {
    const { outputs } = this.#of(guest);
    const takeOver = new AbortController();
    const held: Held = {
      process,
      takeOver,
      taken: takeOver.signal,
      release: () => {
        process.leave();
        if (outputs.get(process.id) === held) outputs.delete(process.id);
      },
    };
    takeOver.signal.addEventListener('abort', () => held.release(), { once: true });
    outputs.set(process.id, held);
    return held;
  }

  isHeld(guest: GuestClient, id: string): boolean {
    return this.#of(guest).outputs.has(id);
  }

  /** Stdin of a process, shared by all who write to it, and how to let go of it. */
  input(guest: GuestClient, id: string): { input: ProcessInput; release: () => void } {
    const { inputs } = this.#of(guest);
    const shared: SharedInput = inputs.get(id) ?? { input: new ProcessInput(guest, id, false), users: 0 };
    inputs.set(id, shared);
    shared.users += 1;
    clearTimeout(shared.timer);
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      shared.users -= 1;
      if (shared.users === 0) this.#forgetLater(inputs, id, shared);
    };
    return { input: shared.input, release };
  }

  /** What a process has not read yet is waited for: it was accepted. */
  #forgetLater(inputs: Map<string, SharedInput>, id: string, shared: SharedInput): void {
    shared.timer = setTimeout(() => {
      if (shared.users > 0) return;
      if (!shared.input.isIdle && !shared.input.isOver) return this.#forgetLater(inputs, id, shared);
      inputs.delete(id);
      shared.input.leave();
    }, inputKeptMs).unref();
  }

  #of(guest: GuestClient): Of {
    const known = this.#guests.get(guest);
    if (known !== undefined) return known;
    const fresh: Of = { outputs: new Map(), inputs: new Map() };
    this.#guests.set(guest, fresh);
    return fresh;
  }
}
