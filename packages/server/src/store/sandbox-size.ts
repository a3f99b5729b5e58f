/** What of a machine a sandbox may take. It counts against quotas and is what is paid for. */
export interface SandboxSize {
  /** Thousandths of a processor. */
  readonly cpuMillis: number;
  readonly memoryMiB: number;
  readonly diskMiB: number;
}
