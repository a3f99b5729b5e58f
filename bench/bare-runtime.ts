import { execFileSync } from 'node:child_process';
import { constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { HostClient } from '@caisson/guest';

interface Config {
  readonly process: { readonly args: readonly string[] };
  readonly linux: { readonly cgroupsPath: string };
}

/**
 * The runtime alone, with the config that the driver wrote for a sandbox and the filesystem that was prepared for it: what
 * a create cannot be quicker than. It is started as the driver starts it, by a small program and not by a fork of Node.
 */
export class BareRuntime {
  readonly name: string;
  readonly #host: HostClient;
  readonly #folder: string;
  readonly #command: readonly string[];
  readonly #config: Config;
  #count = 0;

  /** `bundle` is the folder of a sandbox that runs; `folder` is ours to write to. */
  constructor(bundle: string, folder: string, guestProgram: string) {
    this.#host = new HostClient(guestProgram);
    this.#folder = folder;
    const { runtime } = JSON.parse(readFileSync(join(bundle, 'instance.json'), 'utf8')) as { runtime: string };
    this.name = runtime;
    const program = ['/usr/sbin', '/usr/bin'].map((path) => join(path, runtime)).find((path) => existsSync(path));
    this.#command = [...wrapper(runtime, guestProgram), program ?? runtime, '--root', join(folder, 'state')];
    this.#config = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8')) as Config;
  }

  /** Runs `echo` as a container; answers the milliseconds until the runtime has returned and the first byte is here. */
  async run(): Promise<number> {
    this.#count += 1;
    const name = `bench-${process.pid}-${this.#count}`;
    const bundle = join(this.#folder, name);
    mkdirSync(bundle);
    const args = ['/bin/echo', 'x'];
    const linux = { ...this.#config.linux, cgroupsPath: `/caisson/${name}` };
    const config = { ...this.#config, process: { ...this.#config.process, args }, linux };
    writeFileSync(join(bundle, 'config.json'), JSON.stringify(config));
    const pipe = join(bundle, 'output');
    execFileSync('mkfifo', [pipe]);
    const reader = await open(pipe, constants.O_RDWR);
    try {
      const began = performance.now();
      const byte = firstByte(reader);
      const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
      const argv = [...this.#command, 'run', '--detach', '--bundle', bundle, '--pid-file', join(bundle, 'pid'), name];
      const options = { env, stdin: new Uint8Array(32), stdoutPath: pipe, stderrPath: join(bundle, 'errors') };
      const { code } = await this.#host.run(argv, options);
      if (code !== 0)
        throw new Error(`${this.name} ended with ${code}: ${readFileSync(join(bundle, 'errors'), 'utf8')}`);
      await byte;
      return performance.now() - began;
    } finally {
      await reader.close();
      await this.#host.run([...this.#command, 'delete', '--force', name]);
    }
  }

  async close(): Promise<void> {
    await this.#host.close();
  }
}

async function firstByte(reader: FileHandle): Promise<void> {
  await reader.read(Buffer.alloc(1), 0, 1);
}

/** As the driver does where there are control groups of both kinds, with which crun refuses to work. */
function wrapper(runtime: string, guestProgram: string): string[] {
  if (runtime !== 'crun' || !existsSync('/sys/fs/cgroup/unified/cgroup.procs')) return [];
  return [guestProgram, 'without', '/sys/fs/cgroup/unified'];
}
