import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { GuestUnderTest } from './guest-under-test.ts';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

async function all(output: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of output) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

/** Spawning, input and output, ends, and what survives a lost connection. */
export function describeProcesses(under: GuestUnderTest): void {
  const client = () => under.guest().client;
  const exec = (script: string, options = {}) => client().processes.exec(['sh', '-c', script], options);

  test('a command has its output on two streams, its exit code and its user', async () => {
    const result = await exec('echo out; echo err >&2; id -u; exit 3');
    expect(result).toMatchObject({ why: 'exited', code: 3, dropped: 0 });
    expect([text(result.stdout), text(result.stderr)]).toEqual(['out\n1000\n', 'err\n']);
    expect(text((await exec('id -u', { user: 'root' })).stdout)).toBe('0\n');
    expect(text((await exec('id -u; id -G', { user: '4321' })).stdout)).toBe('4321\n4321\n');
  });

  test('a process may open its standard streams by their names, whoever it belongs to', async () => {
    for (const user of ['user', 'root']) {
      const script = 'echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin';
      const result = await exec(script, { user, input: 'in' });
      expect([text(result.stdout), text(result.stderr)]).toEqual(['out\nin', 'err\n']);
    }
  });

  test('a command that is given no input finds nothing on its stdin, as any other program does', async () => {
    for (const user of ['user', 'root']) {
      const result = await exec('readlink /proc/self/fd/0; stat -Lc %F /dev/stdin; cat; echo over', { user });
      expect(text(result.stdout)).toBe('/dev/null\ncharacter special file\nover\n');
    }
    // The pipes of a command become its user's; this is everybody's.
    expect(text((await exec('stat -c %u /dev/null')).stdout)).not.toBe('1000\n');
  });

  test('a command that runs on is told of at once, and its first words come before its end', async () => {
    const process = await client().processes.spawn({ argv: ['sh', '-c', 'echo word; exec sleep 60'] });
    expect(process.pid).toBeGreaterThan(1);
    for await (const chunk of process.stdout) {
      expect(text(chunk)).toBe('word\n');
      break;
    }
    await process.signal(9);
    expect(await process.wait()).toMatchObject({ why: 'signalled', signal: 9 });
    process.detach();
    await process.forget();
  });

  test('argv, environment and working directory arrive byte for byte', async () => {
    const { processes } = client();
    const odd = 'a b\n"$x" \udce9';
    const argv = ['printf', '%s|', odd, ''];
    expect((await processes.exec(argv)).stdout).toEqual(Buffer.from('a b\n"$x" \xe9||', 'latin1'));
    const env = await exec('echo $X $HOME $USER; pwd', { env: { X: '1=2' } });
    expect(text(env.stdout)).toBe('1=2 /home/user user\n/home/user\n');
    expect(text((await processes.exec(['pwd'], { cwd: '/usr' })).stdout)).toBe('/usr\n');
    const bare = await processes.exec(['/usr/bin/env'], { inheritEnv: false, env: { ONLY: 'this' } });
    expect(text(bare.stdout)).toBe('ONLY=this\n');
  });

  test('a program that cannot be run is no process, and its id stays free', async () => {
    const { processes } = client();
    const id = 'prc00000000000000000001';
    await expect(processes.exec(['no-such-program'], { id })).rejects.toMatchObject({
      code: 'command_not_found',
    });
    await expect(processes.exec(['/etc/passwd'], { id })).rejects.toMatchObject({
      context: { guestCode: 'permission_denied' },
    });
    await expect(processes.exec(['true'], { id, cwd: '/no/such' })).rejects.toMatchObject({
      code: 'command_not_found',
      message: 'the working directory /no/such: No such file or directory',
    });
    await expect(processes.exec(['true'], { id, user: 'nobody-here' })).rejects.toMatchObject({
      context: { guestCode: 'user_not_found' },
    });
    expect(await processes.exec(['true'], { id })).toMatchObject({ code: 0 });
  });

  test('why a process ended is told: signal, timeout, and KILL after the grace', async () => {
    expect(await exec('kill -9 $$')).toMatchObject({ why: 'signalled', signal: 9 });
    expect(await exec('sleep 60', { timeoutMs: 100 })).toMatchObject({ why: 'timed_out', signal: 15 });
    const stubborn = await exec('trap "" TERM; while :; do sleep 0.1; done', { timeoutMs: 100, graceMs: 200 });
    expect(stubborn).toMatchObject({ why: 'timed_out', signal: 9 });
  });

  test('a user that stops all of its processes holds up nobody else', async () => {
    const { processes } = client();
    const stopper = await processes.spawn({ argv: ['sh', '-c', 'while :; do kill -STOP -1; done'] });
    const stopped = Array.from({ length: 100 }, () => processes.spawn({ argv: ['true'], attach: false }));
    for (const one of stopped) one.catch(() => {});
    for (let n = 0; n < 100; n += 1)
      expect(await processes.exec(['true'], { user: 'root' })).toMatchObject({ code: 0 });
    await stopper.signal(9);
    await exec('kill -CONT -1', { user: 'root' });
    for (const one of await Promise.all(stopped)) {
      await one.wait();
      await one.forget();
    }
    stopper.detach();
    await stopper.wait();
    await stopper.forget();
  });

  test('a program dies of memory before the guest, and has the limits the guest was given', async () => {
    const found = await exec('sleep 0.1; cat /proc/self/oom_score_adj /proc/1/oom_score_adj; ulimit -n', {
      user: 'root',
    });
    const [own, guest, files] = text(found.stdout).trim().split('\n').map(Number);
    expect((own ?? 0) - (guest ?? 0)).toBe(200);
    const limits = (await exec('grep "open files" /proc/1/limits', { user: 'root' })).stdout;
    const [soft = 0, hard = 0] = text(limits).match(/\d+/g)?.map(Number) ?? [];
    expect(soft).toBe(Math.max(files ?? 0, Math.min(hard, 65_536)));
  });

  test('stdin is written, slowly read, and closed', async () => {
    const input = Buffer.alloc(1_000_000, 'abcdefg');
    const result = await exec('sleep 0.2; cat', { input });
    expect(result.stdout.equals(input)).toBe(true);
    expect((await exec('head -c 10', { input })).stdout.length).toBe(10);
  });

  test('signals sent at once, or through two handles, all arrive', async () => {
    const { processes } = client();
    const stubborn = () =>
      processes.spawn({ argv: ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done'] });
    const first = await stubborn();
    for await (const _ of first.stdout) break;
    await Promise.all([first.signal(15), first.signal(9)]);
    expect(await first.wait()).toMatchObject({ why: 'signalled', signal: 9 });
    const second = await stubborn();
    for await (const _ of second.stdout) break;
    const other = processes.attach(second.id);
    await second.signal(15);
    await other.signal(15);
    await second.signal(9);
    expect(await second.wait()).toMatchObject({ why: 'signalled', signal: 9 });
    for (const process of [first, second, other]) process.detach();
    await Promise.all([first.forget(), second.forget()]);
  });

  test('a signal goes to the whole group', async () => {
    const process = await client().processes.spawn({ argv: ['sh', '-c', 'sleep 60 & echo $!; wait'] });
    const reader = process.stdout[Symbol.asyncIterator]();
    const child = Number(text((await reader.next()).value));
    await process.signal(15);
    expect(await process.wait()).toMatchObject({ why: 'signalled', signal: 15 });
    // The shell's end does not wait for the end of its child, which has the same signal.
    await expect.poll(async () => text((await exec(`kill -0 ${child} 2>&1 || echo gone`)).stdout)).toContain('gone');
    await expect(process.signal(15)).rejects.toMatchObject({ context: { guestCode: 'process_exited' } });
    process.detach();
    await process.forget();
  });

  test('a terminal has a size, takes another, and ends with its program', async () => {
    const process = await client().processes.spawn({
      argv: ['sh', '-c', 'stty size; read line; stty size; echo got $line; tty >/dev/null && echo yes'],
      pty: { rows: 24, columns: 80 },
    });
    const reading = all(process.stdout);
    await delay(200);
    await process.resize(40, 132);
    await process.stdin.write(Buffer.from('hello\n'));
    const output = (await reading).replaceAll('\r', '');
    expect(output).toBe('24 80\nhello\n40 132\ngot hello\nyes\n');
    expect(await process.wait()).toMatchObject({ code: 0, stdoutBytes: process.stdout.offset });
    await process.forget();
  });

  test('a program on a terminal is told of, however quickly it runs or fails to', async () => {
    const { processes } = client();
    const pty = { rows: 24, columns: 80 };
    // They keep the guest from going on at once, so that a child may well be further by then.
    const busy = await Promise.all(
      Array.from({ length: 2 }, () => processes.spawn({ argv: ['sh', '-c', 'while :; do :; done'] })),
    );
    for (let n = 0; n < 100; n += 1) {
      const process = await processes.spawn({ argv: ['true'], pty });
      await expect(processes.spawn({ argv: ['/no/such'], pty })).rejects.toMatchObject({ code: 'command_not_found' });
      expect(await process.wait()).toMatchObject({ code: 0 });
      process.detach();
      await process.forget();
    }
    for (const process of busy) {
      await process.signal(9);
      await process.wait();
      process.detach();
      await process.forget();
    }
  });

  test('the end of input reaches a terminal whose queue was full', async () => {
    const process = await client().processes.spawn({
      argv: ['sh', '-c', 'stty -echo; echo ready; sleep 0.5; cat > /dev/null; echo done'],
      pty: { rows: 24, columns: 80 },
    });
    const reader = process.stdout[Symbol.asyncIterator]();
    await reader.next();
    await process.stdin.write(Buffer.from('a line of input\n'.repeat(20_000)));
    await process.stdin.end();
    expect(await process.wait(AbortSignal.timeout(5000))).toMatchObject({ code: 0 });
    process.detach();
    await process.forget();
  });

  test('a program that closes its terminal before its end is not killed for it', async () => {
    const process = await client().processes.spawn({
      argv: ['sh', '-c', 'exec <&- >&- 2>&-; sleep 0.3; exit 5'],
      pty: { rows: 24, columns: 80 },
    });
    await process.stdin.write(Buffer.from('x')).catch(() => {});
    expect(await process.wait()).toMatchObject({ why: 'exited', code: 5 });
    process.detach();
    await process.forget();
  });

  test('the end of input reaches a terminal within a line', async () => {
    const process = await client().processes.spawn({ argv: ['cat'], pty: { rows: 24, columns: 80 } });
    await process.stdin.write(Buffer.from('no newline'));
    await process.stdin.end();
    expect(await process.wait()).toMatchObject({ code: 0 });
    process.detach();
    await process.forget();
  });

  test('processes are listed with their tags until they are forgotten', async () => {
    const { processes } = client();
    const process = await processes.spawn({ argv: ['sleep', '60'], tags: ['blue', 'green'] });
    const [found, ...more] = await processes.list({ tag: 'green' });
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      id: process.id,
      command: 'sleep 60',
      user: 'user',
      tags: ['blue', 'green'],
      pty: false,
    });
    await expect(process.forget()).rejects.toMatchObject({ context: { guestCode: 'busy' } });
    await process.signal(9);
    await process.wait();
    process.detach();
    expect((await processes.list({ id: process.id }))[0]?.exit).toMatchObject({ signal: 9 });
    await process.forget();
    expect(await processes.list({ id: process.id })).toEqual([]);
    await expect(processes.attach(process.id).wait()).rejects.toMatchObject({ code: 'process_not_found' });
  });

  test('spawning twice with one id starts one process', async () => {
    const { processes } = client();
    const id = 'prc00000000000000000002';
    const first = await processes.spawn({ argv: ['sleep', '60'], id, attach: false });
    const second = await processes.spawn({ argv: ['sleep', '60'], id, attach: false });
    expect(second.pid).toBe(first.pid);
    await first.signal(9);
    await first.wait();
    await first.forget();
  });

  test('a reader that stops makes the process wait, and loses nothing', async () => {
    const process = await client().processes.spawn({
      argv: [
        'sh',
        '-c',
        'i=0; while [ $i -lt 40000 ]; do echo "line $i of a long story that fills a ring"; i=$((i+1)); done',
      ],
      ringBytes: 65536,
    });
    await delay(300);
    const [info] = await client().processes.list({ id: process.id });
    expect(info?.exit).toBeUndefined();
    expect(info?.stdoutBytes).toBeLessThan(2_000_000);
    const lines = (await all(process.stdout)).trim().split('\n');
    expect(lines.length).toBe(40_000);
    expect(lines[39_999]).toBe('line 39999 of a long story that fills a ring');
    await process.wait();
    await process.forget();
  });

  test('a detached process drops its oldest output, and says how much', async () => {
    const { processes } = client();
    const first = await processes.spawn({
      argv: ['sh', '-c', 'head -c 300000 /dev/zero; echo end'],
      attach: false,
      whenDetached: 'drop',
      ringBytes: 4096,
    });
    await first.wait();
    const again = processes.attach(first.id);
    const output = await all(again.stdout);
    expect(again.stdout.lost).toBe(300_004 - output.length);
    expect(output.endsWith('end\n')).toBe(true);
    expect(output.length).toBeGreaterThan(0);
    await first.forget();
  });

  test('output is replayed exactly once when the server goes and comes back', async () => {
    const guest = under.guest();
    const process = await client().processes.spawn({
      argv: [
        'sh',
        '-c',
        'i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); [ $((i % 500)) = 0 ] && sleep 0.2; done; exit 7',
      ],
    });
    const reading = all(process.stdout);
    const waiting = process.wait();
    for (let n = 0; n < 3; n += 1) {
      await delay(150);
      await guest.loseServer();
      await delay(100);
      await guest.bringServer();
    }
    expect((await reading).trim().split('\n')).toEqual(Array.from({ length: 3000 }, (_, n) => `${n}`));
    expect(await waiting).toMatchObject({ code: 7 });
    await process.forget();
  });

  test('stdin is written exactly once when the server goes and comes back', async () => {
    const guest = under.guest();
    const process = await client().processes.spawn({ argv: ['sh', '-c', 'sleep 1; cksum'], stdin: true });
    const reading = all(process.stdout);
    const input = Buffer.alloc(700_000, 'the quick brown fox');
    const writing = process.stdin.write(input).then(() => process.stdin.end());
    await delay(200);
    await guest.loseServer();
    await guest.bringServer();
    await writing;
    const { stdout } = await exec('cksum', { input });
    expect(await reading).toBe(text(stdout));
    await process.wait();
    await process.forget();
  });

  test('zombies that nobody waits for are reaped', async () => {
    await exec('for i in $(seq 20); do (sh -c "exit 0" & ) ; done');
    await delay(300);
    const { stdout } = await exec('ps -eo stat= | grep -c Z || true', { user: 'root' });
    expect(Number(text(stdout))).toBeLessThanOrEqual(1);
  });

  test('a process that closes everything, and a daemon that keeps it open, end as they should', async () => {
    expect(await exec('exec <&- >&- 2>&-; sleep 0.3; exit 5')).toMatchObject({ code: 5 });
    const began = performance.now();
    const result = await exec('echo first; sleep 20 & exit 0');
    expect(text(result.stdout)).toBe('first\n');
    expect(performance.now() - began).toBeLessThan(5000);
    await exec('pkill sleep || true', { user: 'root' });
  });

  test('an abort kills the command and frees it', async () => {
    const controller = new AbortController();
    const running = exec('sleep 60', { signal: controller.signal, tags: ['aborted'] });
    setTimeout(() => controller.abort(), 100);
    await expect(running).rejects.toMatchObject({ code: 'action_cancelled' });
    const timeout = exec('sleep 60', { signal: AbortSignal.timeout(100), tags: ['aborted'] });
    await expect(timeout).rejects.toMatchObject({ code: 'request_timeout' });
    await expect
      .poll(async () => (await client().processes.list({ tag: 'aborted' })).filter((p) => !p.exit).length)
      .toBe(0);
  });
}
