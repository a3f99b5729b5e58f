import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { encodeFrame, encodeMessage, limits, methods, open, welcome } from '../src/index.ts';
import type { GuestUnderTest } from './guest-under-test.ts';

export interface StressExtent {
  readonly sequential: number;
  readonly concurrent: number;
  readonly goneMs: number;
  readonly hostileRounds: number;
  /** Above this the guest holds on to what it needed once. Fresh and idle it has its own test. */
  readonly idleKiB: number;
}

const timeout = 600_000;

/** Many of everything, hostile servers and absent ones: nothing leaks, nothing hangs. */
export function describeStress(under: GuestUnderTest, extent: StressExtent): void {
  const client = () => under.guest().client;

  /** Descriptors and memory when nothing happens: idle workers and buffers are given back after two seconds, and one more. */
  async function idle() {
    await delay(3600);
    // From outside, because asking the guest would wake it; by its pages, because the kernel's counter is approximate.
    const rollup = await readFile(`/proc/${await under.guest().pid()}/smaps_rollup`, 'utf8');
    const residentKiB = Number(/^Rss: +(\d+) kB$/m.exec(rollup)?.[1]);
    return { ...(await client().stats()), residentKiB };
  }

  async function leavesNothing(work: () => Promise<void>): Promise<number> {
    const before = await client().stats();
    await work();
    const after = await idle();
    expect(after.processes).toBe(0);
    expect(after.ringBytes).toBe(0);
    // Before may count workers that were still warm; after must not be more than that.
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
    expect(after.residentKiB).toBeLessThan(extent.idleKiB);
    return after.residentKiB;
  }

  test(
    `${extent.sequential} processes one after the other leave nothing behind`,
    async () => {
      await leavesNothing(async () => {
        for (let n = 0; n < extent.sequential; n += 1) {
          const { code } = await client().processes.exec(['/bin/true']);
          expect(code).toBe(0);
        }
      });
    },
    timeout,
  );

  test(
    `${extent.concurrent} processes at once, each with its streams, leave nothing behind`,
    async () => {
      await leavesNothing(async () => {
        const { processes } = client();
        const running = await Promise.all(
          Array.from({ length: extent.concurrent }, (_, n) =>
            processes.spawn({ argv: ['sh', '-c', `echo ${n}; read x; echo $x; exit ${n % 7}`], stdin: true }),
          ),
        );
        // Two attachments and a wait for each: this many streams are open at this moment.
        expect(under.guest().connection().channelCount).toBeGreaterThanOrEqual(3 * extent.concurrent);
        expect((await client().stats()).processes).toBe(extent.concurrent);
        await Promise.all(
          running.map(async (process, n) => {
            await process.stdin.write(Buffer.from(`word ${n}\n`));
            const chunks: Uint8Array[] = [];
            for await (const chunk of process.stdout) chunks.push(chunk);
            expect(Buffer.concat(chunks).toString()).toBe(`${n}\nword ${n}\n`);
            expect(await process.wait()).toMatchObject({ code: n % 7 });
            process.detach();
            await process.forget();
          }),
        );
      });
    },
    timeout,
  );

  test(
    'a thousand files are read at once, and the slow ones stop nobody',
    async () => {
      const work = async () => {
        const { files, processes } = client();
        await processes.exec(['sh', '-c', 'head -c 4000000 /dev/zero > big']);
        const slow = Array.from({ length: 1000 }, () => files.read('big'));
        await Promise.all(slow.map((reader) => reader.next()));
        const began = performance.now();
        expect((await files.stat('big')).size).toBe(4_000_000);
        expect((await processes.exec(['true'])).code).toBe(0);
        expect(performance.now() - began).toBeLessThan(2000);
        await Promise.all(slow.map((reader) => reader.return(undefined)));
        await files.remove('big');
      };
      const once = await leavesNothing(work);
      // What the allocator keeps for the next time is no leak; what grows with each time is.
      expect(await leavesNothing(work)).toBeLessThan(once + 64);
    },
    timeout,
  );

  test(
    'the server may be gone while a process writes; nothing is lost and nothing grows',
    async () => {
      await leavesNothing(async () => {
        const guest = under.guest();
        const process = await client().processes.spawn({
          argv: ['sh', '-c', 'i=0; while [ $i -lt 100000 ]; do echo "line number $i"; i=$((i+1)); done'],
          ringBytes: 65_536,
        });
        await guest.loseServer();
        await delay(extent.goneMs);
        await guest.bringServer();
        let text = '';
        for await (const chunk of process.stdout) text += Buffer.from(chunk).toString();
        const lines = text.trim().split('\n');
        expect([lines.length, lines[0], lines.at(-1)]).toEqual([100_000, 'line number 0', 'line number 99999']);
        await process.wait();
        await process.forget();
      });
    },
    timeout,
  );

  test(
    'garbage, truncated frames and a server that does not read end a connection and nothing else',
    async () => {
      const guest = under.guest();
      const { path } = { path: `${guest.folder}/guest.sock` };
      const survivor = await client().processes.spawn({ argv: ['sleep', '1000'], attach: false });
      const before = await client().stats();
      await guest.loseServer();
      await hostile(path, extent.hostileRounds);
      await guest.bringServer();
      expect((await client().processes.list({ id: survivor.id }))[0]?.exit).toBeUndefined();
      await survivor.signal(9);
      await survivor.wait();
      await survivor.forget();
      const after = await idle();
      expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
      expect(after.processes).toBe(0);
    },
    timeout,
  );
}

/** Welcomes the guest each time it dials, and then does it harm. The secret it was given first stays good. */
async function hostile(path: string, rounds: number): Promise<void> {
  const sockets = new Set<Socket>();
  let dialled = 0;
  let done = () => {};
  const finished = new Promise<void>((resolve) => {
    done = resolve;
  });
  const hello = encodeFrame(
    'welcome',
    0,
    encodeMessage(welcome, { version: 1, initialWindow: limits.windowInitial, maxChannels: 100 }),
  );
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      dialled += 1;
      if (dialled > rounds) {
        done();
        return;
      }
      socket.write(hello);
      harm(socket, dialled);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await finished;
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
}

function harm(socket: Socket, round: number): void {
  const kind = round % 5;
  if (kind === 0) socket.write(randomBytes(5000));
  else if (kind === 1) socket.end(openFrame(1, 'process.list', {}).subarray(0, 20));
  else if (kind === 2) socket.end(Buffer.alloc(7));
  else if (kind === 3) {
    // Everything at once, and nothing is read: a thousand lists of a large folder, and output without end.
    socket.pause();
    for (let id = 1; id < 400; id += 2) {
      socket.write(openFrame(id, 'file.list', { path: '/usr', depth: 3, maxEntries: 100_000, user: 'root' }));
    }
    setTimeout(() => socket.destroy(), 300);
  } else {
    const frames = Array.from({ length: 50 }, (_, n) => openFrame(2 * n + 1, 'sys.stats', {}));
    const all = Buffer.concat(frames);
    all[Math.floor(Math.random() * all.length)] = 0xff;
    socket.write(all);
    setTimeout(() => socket.destroy(), 50);
  }
}

function openFrame(id: number, name: keyof typeof methods, params: object): Buffer {
  const { number, input, params: definition } = methods[name];
  const payload = encodeMessage(definition, params as never);
  return encodeFrame('open', id, encodeMessage(open, { method: number, input, params: payload }));
}
