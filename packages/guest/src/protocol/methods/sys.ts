import { bytes, message, text, uint } from '../field.ts';
import { method } from './method.ts';

const amount = (tag: number, about: string) => uint(tag, Number.MAX_SAFE_INTEGER, about);

export const sysMethods = {
  'sys.info': method({
    number: 0x0501,
    about: 'what does not change while the guest runs',
    params: message('sys_info', 'parameters of sys.info', {}),
    result: message('sys_info_result', 'result of sys.info', {
      guestVersion: text(1, 64, 'release of the guest'),
      bootId: bytes(2, 16, 'as in hello', 16),
      kernel: text(3, 256, 'release of the kernel'),
      machine: text(4, 64, 'as uname -m'),
      hostname: text(5, 256, 'name of the sandbox'),
      startedAt: amount(6, 'start of the guest, milliseconds since 1970'),
    }),
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'sys.stats': method({
    number: 0x0502,
    about: 'what the guest and its sandbox use now; 0 where the kernel does not tell',
    params: message('sys_stats', 'parameters of sys.stats', {}),
    result: message('sys_stats_result', 'result of sys.stats', {
      processes: amount(1, 'running processes that were spawned'),
      keptProcesses: amount(2, 'ended and not yet forgotten'),
      ringBytes: amount(3, 'memory of all rings'),
      descriptors: amount(4, 'open descriptors of the guest'),
      residentKiB: amount(5, 'resident size of the guest'),
      memoryBytes: amount(6, 'used by the sandbox'),
      cpuMilliseconds: amount(7, 'used by the sandbox'),
      diskUsedBytes: amount(8, 'of the root filesystem'),
      diskTotalBytes: amount(9, 'of the root filesystem'),
      uptimeMs: amount(10, 'of the guest'),
    }),
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'sys.sync': method({
    number: 0x0503,
    about: 'syncfs of the root, so that a snapshot that follows is quick and whole',
    params: message('sys_sync', 'parameters of sys.sync', {}),
    repeat: 'idempotent',
    afterLoss: 'repeat',
  }),
  'sys.shutdown': method({
    number: 0x0504,
    about:
      'TERM to all, the grace, KILL; answers when none is left, sends goaway and exits. Spawn is refused meanwhile',
    params: message('sys_shutdown', 'parameters of sys.shutdown', {
      graceMs: uint(1, 600_000, 'between TERM and KILL'),
    }),
    result: message('sys_shutdown_result', 'result of sys.shutdown', {
      ended: amount(1, 'processes that were running'),
    }),
    repeat: 'idempotent',
    afterLoss: 'repeat; a guest that does not come back has exited',
  }),
} as const;
