import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, beforeEach, expect, type TestContext, test } from 'vitest';
import { skip } from '../../../../test/conformance/skips.ts';
import { slowness } from '../../../../test/slowness.ts';
import { buildGuest } from '../../build.mjs';
import { startGuest, whyNoGuest } from '../../testing/start-guest.ts';
import { decodeMessage } from '../protocol/decode-message.ts';
import { encodeMessage } from '../protocol/encode-message.ts';
import { encodeFrame } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import { type Hello, hello, refuse } from '../protocol/messages.ts';
import { acceptGuest } from './accept-guest.ts';
import { GuestClient } from './guest-client.ts';

/** What the guest does with where it is put: memory limits, other ways to reach it, strangers, quiet. */
let binary: string;

beforeAll(() => {
  binary = buildGuest({ quiet: true });
}, 120_000);

beforeEach((context) => {
  const why = whyNoGuest();
  if (why !== undefined) skip(context, why);
});

test('an idle guest holds less than 300 KB and sleeps', async () => {
  const guest = await startGuest({ binary });
  try {
    const pid = await guest.pid();
    await guest.client.info();
    await delay(2500);
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    expect(Number(/^Rss: +(\d+) kB$/m.exec(rollup)?.[1])).toBeLessThan(300);
    const switches = () =>
      Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    const before = switches();
    await delay(1500);
    expect(switches()).toBe(before);
  } finally {
    await guest.stop();
  }
});

test('once a server has the guest, its words go nowhere and its memory is nobody’s', async () => {
  const guest = await startGuest({ binary });
  try {
    const look = 'readlink /proc/1/fd/1 /proc/1/fd/2; grep -c . /proc/1/environ';
    const asRoot = await guest.client.processes.exec(['sh', '-c', look], { user: 'root' });
    expect(asRoot.stdout.toString()).toMatch(/^\/dev\/null\n\/dev\/null\n/);
    const asUser = await guest.client.processes.exec(['ls', '/proc/1/fd'], { user: 'user' });
    expect(asUser.code).not.toBe(0);
  } finally {
    await guest.stop();
  }
});

/** A group of the host with one limit, whichever way the host has its groups. */
function limitedGroup(
  context: TestContext,
  controller: 'memory' | 'pids',
  { v1, v2, limit }: { v1: string; v2: string; limit: string },
): string {
  const root = '/sys/fs/cgroup';
  const isV2 = existsSync(`${root}/cgroup.controllers`);
  const group = join(root, isV2 ? '' : controller, `caisson-test-${process.pid}`);
  try {
    if (isV2) writeFileSync(`${root}/cgroup.subtree_control`, `+${controller}`);
    mkdirSync(group);
    writeFileSync(join(group, isV2 ? v2 : v1), limit);
  } catch (error) {
    skip(context, `needs control groups that can be written: ${error}`);
  }
  return group;
}

test('a process that the memory limit killed is told from one that was killed', async (context) => {
  const bytes = String(48 * 1024 * 1024);
  const group = limitedGroup(context, 'memory', { v1: 'memory.limit_in_bytes', v2: 'memory.max', limit: bytes });
  const wrapper = ['sh', '-c', `echo $$ > ${group}/cgroup.procs; exec "$@"`, 'sh'];
  const guest = await startGuest({ binary, wrapper });
  try {
    const { processes } = guest.client;
    expect(await processes.exec(['sh', '-c', 'kill -9 $$'])).toMatchObject({ why: 'signalled', signal: 9 });
    expect(await processes.exec(['tail', '/dev/zero'])).toMatchObject({ why: 'out_of_memory', signal: 9 });
    // One that a shell waited for is no reason why another one ended later.
    const shell = await processes.exec(['sh', '-c', 'tail /dev/zero; echo $?']);
    expect([shell.why, shell.stdout.toString()]).toEqual(['exited', '137\n']);
    expect(await processes.exec(['sh', '-c', 'kill -9 $$'])).toMatchObject({ why: 'signalled', signal: 9 });
    expect((await guest.client.stats()).memoryBytes).toBeGreaterThan(0);
  } finally {
    await guest.stop();
    await delay(100);
    rmdirSync(group);
  }
});

test('kills for memory are counted where a sandbox sees its own group, and none are invented where it sees none', async () => {
  const place = mkdtempSync(join(tmpdir(), 'caisson-cgroup-'));
  const wrapper = ['sh', '-c', `mount --bind ${place} /sys/fs/cgroup; exec "$@"`, 'sh'];
  const dies = [
    'sh',
    '-c',
    '[ ! -e /sys/fs/cgroup/memory.events ] || echo oom_kill 1 > /sys/fs/cgroup/memory.events; kill -9 $$',
  ];
  const ends = async () => {
    const guest = await startGuest({ binary, wrapper });
    try {
      const first = await guest.client.processes.exec(dies, { user: 'root' });
      return [first.why, (await guest.client.processes.exec(dies, { user: 'root' })).why];
    } finally {
      await guest.stop();
    }
  };
  try {
    expect(await ends()).toEqual(['signalled', 'signalled']);
    writeFileSync(join(place, 'memory.events'), 'oom 0\noom_kill 0\n');
    expect(await ends()).toEqual(['out_of_memory', 'signalled']);
  } finally {
    rmSync(place, { recursive: true });
  }
});

test('a limit of processes is told as that', async (context) => {
  const group = limitedGroup(context, 'pids', { v1: 'pids.max', v2: 'pids.max', limit: '12' });
  const wrapper = ['sh', '-c', `echo $$ > ${group}/cgroup.procs; exec "$@"`, 'sh'];
  const guest = await startGuest({ binary, wrapper });
  try {
    const { processes, files } = guest.client;
    const many = Array.from({ length: 12 }, () => processes.spawn({ argv: ['sleep', '60'], attach: false }));
    const refused = (await Promise.allSettled(many)).filter(({ status }) => status === 'rejected');
    expect(refused[0]).toMatchObject({ reason: { code: 'max_processes_reached', kind: 'limit' } });
    await expect(files.stat('/etc/passwd')).rejects.toMatchObject({ code: 'max_processes_reached' });
  } finally {
    await guest.stop();
    await delay(100);
    rmdirSync(group);
  }
});

test('in a user namespace with few capabilities it serves its users all the same', async (context) => {
  const keeper = spawn('unshare', ['-U', 'sleep', '1000'], { stdio: 'ignore' });
  const place = mkdtempSync(join(tmpdir(), 'caisson-userns-'));
  try {
    await delay(200);
    chmodSync(place, 0o755);
    const own = join(place, 'guest');
    copyFileSync(binary, own);
    try {
      writeFileSync(`/proc/${keeper.pid}/uid_map`, '0 100000 65536');
      writeFileSync(`/proc/${keeper.pid}/gid_map`, '0 100000 65536');
    } catch (error) {
      skip(context, `needs user namespaces: ${error}`);
    }
    const few = 'setuid,+setgid,+kill,+chown,+dac_override,+fowner';
    const guest = await startGuest({
      binary: own,
      outer: ['nsenter', '-t', `${keeper.pid}`, '-U', '-S', '0', '-G', '0', '--'],
      wrapper: ['setpriv', '--no-new-privs', '--bounding-set', `-all,+${few}`, '--inh-caps', '-all'],
    });
    try {
      const { processes, files } = guest.client;
      const ids = await processes.exec([
        'sh',
        '-c',
        'id -u; grep -c . /proc/self/status; echo x > file; stat -c %u file',
      ]);
      expect(ids.stdout.toString()).toMatch(/^1000\n\d+\n1000\n$/);
      expect((await processes.exec(['id', '-u'], { user: 'root' })).stdout.toString()).toBe('0\n');
      expect(await files.write('made', 'x')).toMatchObject({ uid: 1000 });
      await files.write('/home/roots', 'x', { user: 'root', mode: 0o600 });
      await expect(files.readAll('/home/roots')).rejects.toMatchObject({ context: { guestCode: 'permission_denied' } });
      const terminal = await processes.spawn({ argv: ['tty'], pty: { rows: 2, columns: 2 } });
      expect(await terminal.wait()).toMatchObject({ code: 0 });
    } finally {
      await guest.stop();
    }
  } finally {
    keeper.kill('SIGKILL');
    rmSync(place, { recursive: true, force: true });
  }
});

/** A relay and the server's stream through it. Node's own pipes are sockets, which a relay must carry. */
function relayBySockets(name: string): { relay: ChildProcess; stream: Duplex } {
  const relay = spawn(binary, ['relay', '--relay', name], { stdio: ['pipe', 'pipe', 'inherit'] });
  return { relay, stream: Duplex.from({ readable: relay.stdout, writable: relay.stdin }) };
}

/** As an engine starts it: real pipes, which the guest takes over. */
function relayByPipes(name: string): { relay: ChildProcess; stream: Duplex } {
  const place = mkdtempSync(join(tmpdir(), 'caisson-relay-'));
  const [to, from] = [join(place, 'to'), join(place, 'from')];
  execFileSync('mkfifo', [to, from]);
  const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
  const [itsStdin, writing] = [openSync(to, O_RDONLY | O_NONBLOCK), openSync(to, O_WRONLY | O_NONBLOCK)];
  const [reading, itsStdout] = [openSync(from, O_RDONLY | O_NONBLOCK), openSync(from, O_WRONLY)];
  const relay = spawn(binary, ['relay', '--relay', name], { stdio: [itsStdin, itsStdout, 'inherit'] });
  closeSync(itsStdin);
  closeSync(itsStdout);
  rmSync(place, { recursive: true });
  const readable = new Socket({ fd: reading, readable: true, writable: false });
  const writable = new Socket({ fd: writing, readable: false, writable: true });
  return { relay, stream: Duplex.from({ readable, writable }) };
}

const childrenOf = (pid: number | undefined) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();

test.each([
  ['carries the bytes of', relayBySockets],
  ['hands its pipes over to', relayByPipes],
])('a relay %s a guest that cannot dial', async (_, start) => {
  const name = `caisson-test-${process.pid}`;
  const sandboxId = 'sbxabcdefghij0123456789';
  const guest = spawn(binary, ['guest', '--relay', name, '--sandbox', sandboxId], { stdio: 'ignore' });
  const client = new GuestClient({ patienceMs: 3000 * slowness });
  const dial = async () => {
    const { relay, stream } = start(name);
    const connection = await acceptGuest(stream, (said) => {
      expect(said.sandboxId).toBe(sandboxId);
      const welcome = { version: 1, initialWindow: limits.windowInitial, maxChannels: 64 };
      return { welcome, secrets: undefined };
    });
    if (connection !== undefined) client.use(connection);
    return relay;
  };
  const listens = () => readFileSync('/proc/net/unix', 'utf8').includes(`@${name}\n`);
  try {
    await expect.poll(listens, { timeout: 10_000 * slowness, interval: 20 }).toBe(true);
    const first = await dial();
    const process = await client.processes.spawn({
      argv: ['sh', '-c', 'echo one; read x; echo $x; head -c 3000000 /dev/zero'],
      user: 'root',
      stdin: true,
    });
    // One that carries has a process for each direction.
    expect(childrenOf(first.pid) === '').toBe(start === relayByPipes);
    first.kill('SIGKILL');
    await client.connection?.closed;
    const second = await dial();
    await process.stdin.write(Buffer.from('two\n'));
    const chunks: Uint8Array[] = [];
    for await (const chunk of process.stdout) chunks.push(Buffer.from(chunk));
    const output = Buffer.concat(chunks);
    expect(output.subarray(0, 8).toString()).toBe('one\ntwo\n');
    expect(output.length).toBe(8 + 3_000_000);
    const gone = new Promise((resolve) => second.once('exit', resolve));
    await client.connection?.close();
    await gone;
  } finally {
    client.close();
    guest.kill('SIGKILL');
  }
});

test('a stranger and a second dialler are refused, and the guest stays', async () => {
  const guest = await startGuest({ binary });
  try {
    const said = guest.connection().hello;
    const ask = (change: Partial<Hello>) => knock(`${guest.folder}/guest.sock`, { ...said, ...change });
    expect(await ask({ secret: randomBytes(32) })).toBe('auth_failed');
    const { secret: _, ...without } = said;
    expect(await knock(`${guest.folder}/guest.sock`, without)).toBe('auth_failed');
    // The secret that the guest showed at its first dial is still the current one, so this one is proven, and one too many.
    expect(await ask({})).toBe('already_connected');
    expect(await ask({ sandboxId: 'sbxother' })).toBe('wrong_sandbox');
    expect(await ask({ incarnation: 7 })).toBe('stale_incarnation');
    expect(await guest.client.ping()).toBeGreaterThan(0);
    expect(guest.connection().isOpen).toBe(true);
  } finally {
    await guest.stop();
  }
});

/** Says hello and gives the reason of the refusal. */
function knock(path: string, said: Hello): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => socket.write(encodeFrame('hello', 0, encodeMessage(hello, said))));
    socket.once('data', (answer) => resolve(decodeMessage(refuse, answer.subarray(limits.headerBytes)).reason));
    socket.once('error', reject);
  });
}
