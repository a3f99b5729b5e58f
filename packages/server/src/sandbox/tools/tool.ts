import { posix } from 'node:path';
import type { ToolBlock, ToolName, ToolParams, ToolProgress, ToolResources } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';

/** What a tool has to work with, for one call. */
export interface ToolContext {
  readonly guest: GuestClient;
  /** The workspace: where paths without a slash in front begin. */
  readonly root: string;
  readonly user: string | undefined;
  readonly resources: ToolResources | undefined;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** Ends with the time of the call, for what runs no program. */
  readonly signal: AbortSignal;
  /** Ends with the server. */
  readonly shutdown: AbortSignal;
  readonly onProgress: (progress: ToolProgress) => void;
}

export interface ToolResult {
  readonly content: readonly ToolBlock[];
  readonly exitCode?: number;
  readonly timedOut?: boolean;
  readonly truncated?: boolean;
}

/** Does the work of one tool. What it throws as one of ours is its answer, where that is about what it was given. */
export type ToolWork<N extends ToolName> = (params: ToolParams<N>, context: ToolContext) => Promise<ToolResult>;
export type ToolWorks<N extends ToolName = ToolName> = { readonly [K in N]: ToolWork<K> };

export function text(content: string): ToolBlock {
  return { type: 'text', text: content };
}

export function inWorkspace({ root }: Pick<ToolContext, 'root'>, path: string): string {
  return path.startsWith('/') ? path : posix.join(root, path);
}
