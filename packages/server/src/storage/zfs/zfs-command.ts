import type { HostClient } from '@caisson/guest';
import { hostCommand } from '../layered/host-command.ts';

/** What is asked of zfs: its program, and a mount of a dataset. A double of it can be given instead. */
export interface ZfsCommand {
  zfs(args: readonly string[]): Promise<string>;
  mount(dataset: string, target: string): Promise<void>;
}

/** As mount(2) has them. */
const noDevices = 4;
const noAccessTimes = 1024;

export function realZfs(host: HostClient): ZfsCommand {
  return {
    zfs: (args) => hostCommand(host, 'zfs', args),
    mount: (dataset, target) =>
      host.mount({ source: dataset, target, type: 'zfs', flags: noDevices | noAccessTimes, data: '' }),
  };
}
