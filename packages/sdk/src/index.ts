/** The TypeScript client of Caisson, for Node and browsers. */
export {
  type ApiKey,
  type Attempt,
  type AttemptSummary,
  CaissonError,
  type CaissonEvent,
  type CreateSandbox,
  type Doctor,
  type ErrorCode,
  type FieldProblem,
  hasCode,
  type Owner,
  type Profile,
  type Reason,
  type RouteName,
  type Sandbox,
  type SandboxState,
  type Scope,
} from '@caisson/contract';
export { Caisson } from './caisson.ts';
export type { CallAnswer, CallArguments, CallInput, CallOptions } from './call.ts';
export type { FollowOptions } from './event-stream.ts';
export type { EventOptions, ProjectEventOptions } from './events.ts';
export type { Keys, NewKey } from './keys.ts';
export type { Page } from './pages.ts';
export type { Profiles } from './profiles.ts';
export { type ActOptions, SandboxHandle } from './sandbox-handle.ts';
export type { PageOptions, Sandboxes, SandboxFilter } from './sandboxes.ts';
export { type CaissonOptions, defaultBaseUrl, type Fetch } from './transport.ts';
