import type { GuestClient } from '@caisson/guest';
import type { SandboxHandle } from '@caisson/sdk';

/** What the suite does inside an instance, whichever way leads there. */
export interface Inside {
  /** Runs a command of a shell to its end, as `user` unless somebody else is named. */
  run(command: string, user?: string): Promise<{ readonly exitCode: number | null; readonly stdout: string }>;
  /** Starts one in the background; answers its id. */
  start(command: string): Promise<string>;
  /** All that it wrote, from its beginning to its end. */
  outputOf(process: string): Promise<string>;
}

export function insideGuest(guest: GuestClient): Inside {
  const shell = (command: string) => ['/bin/sh', '-c', command];
  return {
    async run(command, user = 'user') {
      const { code, stdout } = await guest.processes.exec(shell(command), { user });
      return { exitCode: code ?? null, stdout: stdout.toString() };
    },
    start: async (command) => (await guest.processes.spawn({ argv: shell(command), attach: false })).id,
    async outputOf(process) {
      const handle = guest.processes.attach(process);
      let output = '';
      for await (const bytes of handle.stdout) output += Buffer.from(bytes);
      return output;
    },
  };
}

export function insideSandbox(sandbox: SandboxHandle): Inside {
  return {
    run: (command, user = 'user') => sandbox.exec(command, { user }),
    start: async (command) => (await sandbox.processes.start(command, { outputWhenDetached: 'wait' })).id,
    async outputOf(process) {
      let output = '';
      for await (const { bytes } of (await sandbox.processes.get(process)).attach()) output += Buffer.from(bytes);
      return output;
    },
  };
}
