import {
  CaissonError,
  hasCode,
  type Id,
  type Sandbox,
  type ToolAnswer,
  type ToolProgress,
  type ToolRequest,
  tools,
} from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import type { Caller } from '../../tenancy/caller.ts';
import type { Guests } from '../guests.ts';
import type { Sandboxes } from '../sandboxes.ts';
import type { WorkContext } from '../work-context.ts';
import { perform } from './perform.ts';
import { readCall, type ToolCall } from './tool-call.ts';
import { WorkspaceRoots } from './workspace-roots.ts';

export interface ToolsContext {
  readonly work: WorkContext;
  readonly sandboxes: Sandboxes;
  readonly guests: Guests;
  /** Keeps the files as a tool left them. */
  snapshotAfter(sandbox: Sandbox, after: { readonly tool: string; readonly callId: string }): Promise<Id<'snapshot'>>;
}

export type OnProgress = (progress: ToolProgress) => void;

/** A sandbox in which a tool is counted as running until `end`. */
interface Entered {
  readonly sandbox: Sandbox;
  readonly guest: GuestClient;
  readonly end: () => void;
}

interface Running {
  readonly hash: string;
  readonly answer: Promise<ToolAnswer>;
  readonly listeners: Set<OnProgress>;
}

/** A pause drains for some minutes at most. */
const longestSettleSeconds = 600;

/** A pause or a rollback may begin between two looks; so many are an accident, more are a defect. */
const maxRounds = 20;

/**
 * Runs the tools of agents.
 *
 * Laws
 * - A call id is run at most once in its sandbox: its row is there before the tool begins, and a call whose row has no
 *   answer and which nobody runs is answered with `tool_interrupted`, for ever.
 * - Who repeats a call gets the first answer: at once, or when the tool that still runs has ended.
 * - A tool runs to its end also when nobody waits for it any more.
 */
export class Tools {
  readonly #context: ToolsContext;
  readonly #roots: WorkspaceRoots;
  readonly #running = new Map<string, Running>();

  constructor(context: ToolsContext) {
    this.#context = context;
    this.#roots = new WorkspaceRoots(context.work.store.attempts);
  }

  /** Whether the request is right, whatever the sandbox does at the moment. */
  async check(caller: Caller, id: string, request: ToolRequest): Promise<{ sandbox: Sandbox; call: ToolCall }> {
    const sandbox = await this.#context.sandboxes.own(caller, id);
    return { sandbox, call: readCall(request) };
  }

  /** `onProgress` is given what a program writes from now on. */
  async run(
    caller: Caller,
    id: string,
    request: ToolRequest,
    onProgress: OnProgress,
    shutdown: AbortSignal,
  ): Promise<ToolAnswer> {
    const { sandbox, call } = await this.check(caller, id, request);
    const key = `${sandbox.id} ${request.callId}`;
    const running = this.#running.get(key) ?? this.#start(key, caller, sandbox, call, shutdown);
    if (running.hash !== call.hash) throw reused(request.callId);
    running.listeners.add(onProgress);
    try {
      return await running.answer;
    } finally {
      running.listeners.delete(onProgress);
    }
  }

  #start(key: string, caller: Caller, sandbox: Sandbox, call: ToolCall, shutdown: AbortSignal): Running {
    const listeners = new Set<OnProgress>();
    const tell: OnProgress = (progress) => {
      for (const listener of listeners) listener(progress);
    };
    const answer = this.#once(caller, sandbox, call, tell, shutdown).finally(() => this.#running.delete(key));
    // Whoever waits sees the failure.
    answer.catch(() => {});
    const running = { hash: call.hash, answer, listeners };
    this.#running.set(key, running);
    return running;
  }

  async #once(
    caller: Caller,
    seen: Sandbox,
    call: ToolCall,
    tell: OnProgress,
    shutdown: AbortSignal,
  ): Promise<ToolAnswer> {
    const { toolCalls } = this.#context.work.store;
    const { callId } = call.request;
    // Before its state is looked at: the first answer is the answer, whatever the sandbox does by now.
    const kept = await toolCalls.get(seen.id, callId);
    if (kept) {
      if (kept.requestHash !== call.hash) throw reused(callId);
      if (!kept.answer) throw new CaissonError('tool_interrupted', `the call ${callId} was cut short`);
      return kept.answer;
    }
    const { sandbox, guest, end } = await this.#enter(caller, seen.id, shutdown);
    try {
      await toolCalls.begin(sandbox, callId, call.hash);
      const answer = await this.#perform({ sandbox, guest, end }, call, tell, shutdown);
      try {
        await toolCalls.answer(sandbox.id, callId, answer);
      } catch (error) {
        if (!hasCode(error, 'database_unavailable')) throw error;
        // It has run, and its caller must know how; a repetition is told that nobody knows.
        return {
          ...answer,
          notices: [...answer.notices, 'The answer could not be kept for a repetition of the call.'],
        };
      }
      return answer;
    } finally {
      end();
    }
  }

  /**
   * The guest of a ready sandbox, with the tool counted as running. Whoever pauses it writes the state first and counts
   * afterwards, and whoever rolls it back holds off tools from the count to the state: so it is read once more behind the
   * count.
   */
  async #enter(caller: Caller, id: Id<'sandbox'>, shutdown: AbortSignal): Promise<Entered> {
    const { guests, work, sandboxes } = this.#context;
    for (let round = 0; round < maxRounds; round += 1) {
      const ends: (() => void)[] = [];
      const end = () => {
        for (const one of ends) one();
      };
      try {
        const found = await guests.of(caller, id, 'use', { shutdown, onEnd: (one) => ends.push(one) });
        ends.push(await work.inFlight.enter(id));
        const { state, incarnation } = await sandboxes.get(caller, id);
        if (state === 'ready' && incarnation === found.sandbox.incarnation) return { ...found, end };
        end();
      } catch (error) {
        end();
        throw error;
      }
    }
    throw new CaissonError('state_changed', `${id} kept changing`);
  }

  async #perform(
    { sandbox, guest, end }: Entered,
    { tool, params, request }: ToolCall,
    onProgress: OnProgress,
    shutdown: AbortSignal,
  ): Promise<ToolAnswer> {
    const { callId } = request;
    const { tier, changesFiles } = tools[tool];
    const began = performance.now();
    try {
      const root = await this.#roots.of(sandbox);
      const done = await perform(tool, params, request, { guest, root, shutdown, onProgress });
      const { content, exitCode, error, timedOut = false, truncated = false } = done;
      const durationMs = Math.round((performance.now() - began) * 1000) / 1000;
      // What was refused has changed nothing.
      const wantsSnapshot = changesFiles && error === null && (request.snapshot ?? sandbox.policy.perTool);
      const kept = wantsSnapshot ? await this.#keep(sandbox, request, end) : {};
      return {
        tool,
        callId,
        tier,
        content: [...content],
        exitCode,
        error,
        timedOut,
        truncated,
        durationMs,
        snapshot: null,
        notices: [],
        ...kept,
      };
    } catch (error) {
      // What changes nothing may be asked for again; of the rest nobody knows how far it came.
      if (!changesFiles) await this.#context.work.store.toolCalls.forget(sandbox.id, callId).catch(() => {});
      throw error;
    }
  }

  /**
   * A tool that has run has run: that it could not be followed by a snapshot is told with its answer. A pause that waits
   * for it gets its way first; nothing moves in a paused sandbox.
   */
  async #keep(sandbox: Sandbox, { tool, callId }: ToolRequest, end: () => void): Promise<Partial<ToolAnswer>> {
    const { snapshotAfter, sandboxes } = this.#context;
    try {
      try {
        return { snapshot: await snapshotAfter(sandbox, { tool, callId }) };
      } catch (error) {
        if (!hasCode(error, 'sandbox_paused')) throw error;
        end();
        await sandboxes.settled(sandbox.id, longestSettleSeconds);
        return { snapshot: await snapshotAfter(sandbox, { tool, callId }) };
      }
    } catch (error) {
      if (!(error instanceof CaissonError)) throw error;
      return { notices: [`There is no snapshot after it: ${error.message}`] };
    }
  }
}

function reused(callId: string): CaissonError {
  return new CaissonError('tool_call_reused', `the call id ${callId} was used with another request`);
}
