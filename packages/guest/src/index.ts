export * from './client/accept-guest.ts';
export { ChannelDuplex } from './client/channel-duplex.ts';
export { type Collected, collect } from './client/collect.ts';
export { feed } from './client/feed.ts';
export { FileWatch, type WatchBatch, type WatchEvent } from './client/file-watch.ts';
export type { Bytes } from './client/file-write.ts';
export { GuestChannel } from './client/guest-channel.ts';
export { GuestClient, type GuestClientOptions } from './client/guest-client.ts';
export { GuestConnection, type OpenOptions } from './client/guest-connection.ts';
export * from './client/guest-files.ts';
export { GuestListener, type GuestListenerOptions } from './client/guest-listener.ts';
export { GuestPorts, type ListeningPort, type ProxyClient } from './client/guest-ports.ts';
export {
  type ExecOptions,
  type ExecResult,
  GuestProcesses,
  type ProcessInfo,
  type SpawnOptions,
} from './client/guest-processes.ts';
export { type ExitStatus, ProcessHandle } from './client/process-handle.ts';
export { ProcessInput } from './client/process-input.ts';
export { ProcessOutput } from './client/process-output.ts';
export { countRead } from './client/read-garbage.ts';
export { ConnectionLost, guestCodeOf } from './client/translate-error.ts';
export { HostClient, type RunOptions, type RunResult } from './host/host-client.ts';
export * from './host/host-messages.ts';
export { renderHostHeader } from './host/render-host-header.ts';
export * from './protocol/channel.ts';
export * from './protocol/channel-table.ts';
export * from './protocol/decode-message.ts';
export * from './protocol/encode-message.ts';
export * from './protocol/errors.ts';
export type { Field, MessageDef, Value } from './protocol/field.ts';
export * from './protocol/frame.ts';
export * from './protocol/frame-decoder.ts';
export * from './protocol/frame-types.ts';
export * from './protocol/handshake.ts';
export * from './protocol/keepalive.ts';
export * from './protocol/limits.ts';
export * from './protocol/messages.ts';
export type { Answer, Method, Repeat, Shape } from './protocol/methods/method.ts';
export * from './protocol/methods.ts';
export * from './protocol/protocol-error.ts';
export * from './protocol/raw-name.ts';
export * from './protocol/render-header.ts';
