import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseEndpoint } from '../../packages/server/src/drivers/docker/endpoint.ts';
import { Engine } from '../../packages/server/src/drivers/docker/engine.ts';
import { SocketBridge } from './socket-bridge.ts';

/** Made once for each machine: a Debian whose Docker engine has a whole BuildKit in it. */
const root = join(tmpdir(), 'caisson-test-buildkitd');

/** In namespaces of its own, so that its mounts go with it. */
const script = `
  root=$1 work=$2
  mount --bind "$root" "$root"
  for place in dev proc sys; do mount --rbind /$place "$root/$place"; done
  mount -t tmpfs tmpfs "$root/run"
  mount -t tmpfs tmpfs "$root/tmp"
  mkdir -p "$root$work"
  mount --bind "$work" "$root$work"
  exec chroot "$root" dockerd --config-file "$work/daemon.json" --data-root "$work/data" --exec-root "$work/exec" \\
    --pidfile "$work/pid" -H "unix://$work/engine" --bridge=none --iptables=false --ip6tables=false --log-level=error`;

export interface RealBuildkitd {
  readonly address: string;
  readonly bridge: SocketBridge;
  close(): Promise<void>;
}

/**
 * Debian has no buildkitd. Its newer engine has the same program inside, with the exporters of a buildkitd where images are
 * containerd's; its gRPC is shown here on a socket of its own.
 */
export async function startBuildkitd(): Promise<RealBuildkitd> {
  makeRoot();
  const folder = mkdtempSync(join(tmpdir(), 'csn-buildkitd-'));
  const address = `unix://${join(folder, 'buildkitd')}`;
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'daemon.json'), '{"features":{"containerd-snapshotter":true}}');
  const child = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-ec', script, 'sh', root, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const engine = new Engine(parseEndpoint(`unix://${join(folder, 'engine')}`), []);
  try {
    await answers(child, engine);
    const reach = () => engine.upgrade('/grpc', { signal: AbortSignal.timeout(20_000) }, 'h2c');
    const bridge = await SocketBridge.open(join(folder, 'buildkitd'), reach);
    return {
      address,
      bridge,
      async close() {
        bridge.close();
        await end(child, engine, folder);
      },
    };
  } catch (error) {
    await end(child, engine, folder);
    throw error;
  }
}

function makeRoot(): void {
  if (existsSync(root)) return;
  const draft = mkdtempSync(join(tmpdir(), 'csn-trixie-'));
  const options = ['--mode=root', '--variant=minbase', '--include=docker.io,containerd,runc,ca-certificates,iptables'];
  execFileSync('mmdebstrap', [...options, 'trixie', join(draft, 'root')], { stdio: 'ignore' });
  renameSync(join(draft, 'root'), root);
  rmSync(draft, { recursive: true });
}

async function answers(child: ChildProcess, engine: Engine): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the engine ended with ${child.exitCode}`);
    try {
      await engine.call('GET', '/_ping', { signal: AbortSignal.timeout(5_000) });
      return;
    } catch {
      await delay(100);
    }
  }
}

async function end(child: ChildProcess, engine: Engine, folder: string): Promise<void> {
  engine.close();
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  child.kill('SIGTERM');
  await ended;
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  const points = mounted.map((line) => line.split(' ')[4] ?? '').filter((point) => point.startsWith(`${folder}/`));
  for (const point of points.sort().reverse()) execFileSync('umount', ['-l', point]);
  execFileSync('rm', ['-rf', '--one-file-system', folder]);
}
