/** The TypeScript client of Caisson, for Node and browsers. */
export {
  type ApiKey,
  type Attempt,
  type AttemptSummary,
  type AuditEntry,
  type Build,
  type BuildDetail,
  type BuildLogItem,
  CaissonError,
  type CaissonEvent,
  type ChangeNetwork,
  type CheckedProfile,
  type CollectedImages,
  type CreateSandbox,
  type CreditBalance,
  type CreditTransfer,
  type DeadLetter,
  type Diff,
  type DiffItem,
  type Doctor,
  type EgressRecord,
  type EgressTraffic,
  type EgressUsage,
  type ErrorCode,
  type ExecRequest,
  type ExecResult,
  type ExpireReport,
  type FieldProblem,
  type FileDiff,
  type FileEdit,
  type FileEntry,
  type GrepMatch,
  type HostReport,
  hasCode,
  type Image,
  type InstallationCapabilities,
  type JsonRouteName,
  type LeaseTerms,
  type ListedPort,
  type NetworkLimits,
  type NetworkPreset,
  type NetworkRules,
  type OpenedPort,
  type Owner,
  type Pool,
  type PortLink,
  type PrincipalRecord,
  type ProcessExit,
  type ProcessRecord,
  type Profile,
  type ProjectRecord,
  type PublishedImage,
  type Quota,
  type ReapReport,
  type Reason,
  type RegistryExtension,
  type RegistryManifest,
  type RouteDecision,
  type RouteName,
  type Sandbox,
  type SandboxNetwork,
  type SandboxRoute,
  type SandboxState,
  type SandboxStats,
  type Scope,
  type Secret,
  type SharedPort,
  type SignalName,
  type Snapshot,
  type StaleItem,
  type StaleReport,
  type StartProcess,
  type TenantRecord,
  type ToolAnswer,
  type ToolBlock,
  type ToolDescription,
  type ToolInput,
  type ToolName,
  type ToolProgress,
  type TreeNode,
  type UsageRecord,
  type WatchBatch,
  type Webhook,
  type WebhookTest,
} from '@caisson/contract';
export type { Attachment, AttachOptions } from './attachment.ts';
export type { Audit, AuditFilter } from './audit.ts';
export { Caisson } from './caisson.ts';
export type { CallAnswer, CallArguments, CallInput, CallOptions } from './call.ts';
export type { Credits, NewGrant, UsageFilter } from './credits.ts';
export type { Egress, EgressFollowOptions, EgressLogOptions } from './egress.ts';
export type { FollowOptions } from './event-stream.ts';
export type { EventOptions, ProjectEventOptions } from './events.ts';
export type { ExecOptions, RunOptions, RunResult } from './exec.ts';
export type {
  FileList,
  FileOptions,
  Files,
  GlobOptions,
  GrepOptions,
  GrepResult,
  ReadOptions,
  WriteOptions,
} from './files.ts';
export type { Hosts, ReapOptions } from './hosts.ts';
export type { Images, PublishOptions, RegistryOptions } from './images.ts';
export type { Keys, NewKey } from './keys.ts';
export type { Network } from './network.ts';
export type { OutputChunk } from './output-cursor.ts';
export type { Page } from './pages.ts';
export type { PoolBounds, Pools } from './pools.ts';
export type { PortConnection } from './port-connection.ts';
export type { Ports } from './ports.ts';
export type { Process, WaitOptions } from './process.ts';
export type { Processes } from './processes.ts';
export type { Profiles } from './profiles.ts';
export type { ProgressOptions } from './progress-call.ts';
export {
  type ActOptions,
  type PauseOptions,
  SandboxHandle,
  type SnapshotRequest,
  type TurnRequest,
} from './sandbox-handle.ts';
export type {
  ExpireRequest,
  ForkRequest,
  PageOptions,
  RollbackOptions,
  Sandboxes,
  SandboxFilter,
} from './sandboxes.ts';
export type { NewSecret, SecretOptions, Secrets } from './secrets.ts';
export type {
  DiffOptions,
  DiffPageOptions,
  ImportOptions,
  SnapshotArchive,
  SnapshotContent,
} from './snapshot-content.ts';
export type { RestoreRequest, SnapshotFilter, Snapshots } from './snapshots.ts';
export type { PrincipalChange, QuotaChange, Tenancy, TenantChoice } from './tenancy.ts';
export type { RunToolOptions, Tools } from './tools.ts';
export { type Bytes, type CaissonOptions, defaultBaseUrl, type Fetch, type FetchAnswer } from './transport.ts';
export { type VerifyOptions, verifyDelivery, verifyWebhook } from './verify-webhook.ts';
export type { WebSocketFactory, WebSocketLike } from './web-socket.ts';
export type { NewWebhook, WebhookListOptions, Webhooks, WebhookWithSecret } from './webhooks.ts';
export type { WrittenEnd, WrittenOptions } from './written-output.ts';
