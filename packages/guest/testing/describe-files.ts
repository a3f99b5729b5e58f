import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { slowness } from '../../../test/slowness.ts';
import type { GrepMatch } from '../src/index.ts';
import type { GuestUnderTest } from './guest-under-test.ts';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const denied = { context: { guestCode: 'permission_denied' } };

export function describeFiles(under: GuestUnderTest): void {
  const files = () => under.guest().client.files;
  const exec = (script: string, options = {}) => under.guest().client.processes.exec(['sh', '-c', script], options);
  const paths = async (list: Promise<{ entries: { path: string }[] }>) => (await list).entries.map(({ path }) => path);

  test('a recursive chmod by root changes no file that a link of the user points to', async () => {
    const { processes } = under.guest().client;
    const run = (script: string, user: string) => processes.exec(['sh', '-c', script], { user });
    const top = `/tmp/caisson-chmod-${process.pid}`;
    await run(
      `mkdir -p ${top}/own ${top}/root && chmod 700 ${top}/root && echo x > ${top}/root/secret && chmod 600 ${top}/root/secret && chown 1000:1000 ${top}/own`,
      'root',
    );
    const swap = `cd ${top}/own; while :; do : > f; rm -f f; ln -s ../root/secret f; rm -f f; done`;
    const racing = await processes.spawn({ argv: ['sh', '-c', swap], user: 'user' });
    const files = under.guest().client.files;
    for (let n = 0; n < 60; n += 1)
      await files.chmod(`${top}/own`, 0o777, { user: 'root', recursive: true }).catch(() => {});
    await racing.signal(9);
    await racing.wait();
    racing.detach();
    await racing.forget();
    const mode = await run(`stat -c %a ${top}/root/secret; rm -r ${top}`, 'root');
    expect(Buffer.from(mode.stdout).toString()).toBe('600\n');
  });

  test('a file is written whole, read whole, and read in ranges', async () => {
    const content = Buffer.alloc(3_000_000, 'caisson!');
    const entry = await files().write('w/deep/file', content, { parents: true, mode: 0o640 });
    expect(entry).toMatchObject({ kind: 'file', size: 3_000_000, mode: 0o640, uid: 1000 });
    expect((await files().readAll('w/deep/file')).equals(content)).toBe(true);
    const chunks: Uint8Array[] = [];
    for await (const chunk of files().read('w/deep/file', { offset: 5, length: 11 })) chunks.push(chunk);
    expect(text(Buffer.concat(chunks))).toBe('on!caisson!'.slice(0, 11));
    await files().write('w/deep/file', 'XY', { how: 'range', offset: 2 });
    expect(text((await files().readAll('w/deep/file')).subarray(0, 6))).toBe('caXYso');
    const made = await files().write('w/range', 'XY', { how: 'range', offset: 1, mode: 0o666 });
    expect(made).toMatchObject({ size: 3, mode: 0o666 });
    await files().write('w/empty', '');
    expect(await files().readAll('w/empty')).toEqual(Buffer.alloc(0));
  });

  test('a replacement is atomic, keeps the mode, and replaces what a link leads to', async () => {
    await files().write('r/target', 'old', { parents: true, mode: 0o600 });
    await files().symlink('r/link', 'target');
    await files().write('r/link', 'new');
    expect(await files().stat('r/target')).toMatchObject({ mode: 0o600, size: 3 });
    expect(await files().stat('r/link', { follow: false })).toMatchObject({ kind: 'symlink', target: 'target' });
    const slow = files().write('r/target', half());
    await delay(100);
    expect(text(await files().readAll('r/target'))).toBe('new');
    expect(await paths(files().list('r'))).toEqual(['link', 'target']);
    await expect(slow).rejects.toThrow('the source broke');
    expect(text(await files().readAll('r/target'))).toBe('new');
    await expect.poll(async () => text((await exec('ls -A r')).stdout)).toBe('link\ntarget\n');
    await expect(files().write('r/target', 'x', { how: 'create' })).rejects.toMatchObject({
      context: { guestCode: 'already_exists' },
    });
  });

  async function* half(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(100_000);
    await delay(300);
    throw new Error('the source broke');
  }

  test('permission is the chosen user’s', async () => {
    await files().write('/home/secret', 'root only', { user: 'root', mode: 0o600 });
    await expect(files().readAll('/home/secret')).rejects.toMatchObject(denied);
    await expect(files().write('/home/mine', 'x')).rejects.toMatchObject(denied);
    await expect(files().remove('/home/secret')).rejects.toMatchObject(denied);
    await expect(files().chown('/home/user', { uid: 0 })).rejects.toMatchObject(denied);
    expect(text(await files().readAll('/home/secret', { user: 'root' }))).toBe('root only');
    await files().remove('/home/secret', { user: 'root' });
    await expect(files().stat('/x', { user: 'stranger' })).rejects.toMatchObject({
      context: { guestCode: 'user_not_found' },
    });
  });

  test('what is not there, or is something else, is said', async () => {
    await expect(files().stat('/no/such')).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(files().readAll('/etc')).rejects.toMatchObject({ context: { guestCode: 'is_a_directory' } });
    await expect(files().readAll('/dev/null')).rejects.toMatchObject({ context: { guestCode: 'invalid_argument' } });
    await exec('mkfifo nobody');
    for (const how of ['replace', 'range'] as const)
      await expect(files().write('nobody', 'x', { how })).rejects.toMatchObject({ code: 'request_invalid' });
    await expect(files().list('/etc/passwd')).rejects.toMatchObject({ context: { guestCode: 'not_a_directory' } });
    expect(text(await files().readAll('/proc/self/comm')).length).toBeGreaterThan(0);
  });

  test('directories are made, listed to a depth, moved and removed', async () => {
    expect(await files().mkdir('d/one/two', { parents: true, mode: 0o700 })).toBe(true);
    expect(await files().mkdir('d/one/two', { parents: true })).toBe(false);
    await files().write('d/one/two/file', 'x');
    expect(await paths(files().list('d'))).toEqual(['one']);
    expect(await paths(files().list('d', { depth: 9 }))).toEqual(['one', 'one/two', 'one/two/file']);
    expect(await files().list('d', { depth: 9, maxEntries: 2 })).toMatchObject({ truncated: true });
    await files().move('d/one', 'd/three');
    await expect(files().move('d/three', 'd/three/two', { replace: false })).rejects.toThrow();
    await expect(files().remove('d')).rejects.toMatchObject({ context: { guestCode: 'not_empty' } });
    await files().symlink('d/three/out', '/etc');
    await files().remove('d', { recursive: true });
    await files().remove('d', { recursive: true, missingOk: true });
    expect(await files().stat('/etc/passwd')).toMatchObject({ kind: 'file' });
  });

  test('modes and attributes are changed', async () => {
    await files().write('m/a/b', 'x', { parents: true });
    await files().chmod('m', 0o750, { recursive: true });
    expect(await files().stat('m/a/b')).toMatchObject({ mode: 0o750 });
    await files()
      .chown('m/a/b', { uid: 4321, gid: 4321 }, { user: 'root' })
      .catch(() => {});
    await files().chown('/home/user/m', { uid: 4321 }, { user: 'root', recursive: true });
    expect(await files().stat('m/a/b')).toMatchObject({ uid: 4321 });
    const path = `${under.guest().folder}/attributed`;
    await files().write(path, 'x', { user: 'root' });
    const value = Buffer.alloc(900, 7);
    await files().setXattr(path, 'user.caisson', value, { user: 'root' });
    expect(await files().getXattr(path, 'user.caisson', { user: 'root' })).toEqual(value);
    expect(await files().listXattrs(path, { user: 'root' })).toContain('user.caisson');
    await files().removeXattr(path, 'user.caisson', { user: 'root' });
    await expect(files().getXattr(path, 'user.caisson', { user: 'root' })).rejects.toMatchObject({
      code: 'file_not_found',
    });
  });

  test('a watch reports what happens below it, and renames as one', async () => {
    await files().mkdir('watched/sub', { parents: true });
    const watch = await files().watch('watched');
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { events } of watch) {
        for (const event of events)
          seen.push(`${event.kind} ${event.path}${event.renamedTo === undefined ? '' : ` ${event.renamedTo}`}`);
        if (seen.some((line) => line.includes('last'))) break;
      }
    })();
    await exec(
      'cd watched; echo 1 > sub/a; mv sub/a b; chmod 600 b; rm b; mkdir -p new/dir; sleep 0.2; echo > new/dir/f; sleep 0.1; mv new newer; sleep 0.1; echo > newer/dir/g; sleep 0.1; touch last',
    );
    await reading;
    expect(seen).toContain('create sub/a');
    expect(seen).toContain('write sub/a');
    expect(seen).toContain('rename sub/a b');
    expect(seen).toContain('chmod b');
    expect(seen).toContain('remove b');
    expect(seen).toContain('create new/dir/f');
    expect(seen).toContain('rename new newer');
    expect(seen).toContain('create newer/dir/g');
  });

  test('a watch tells that changes were lost, and of all that happens after it', async () => {
    const { processes } = under.guest().client;
    await files().mkdir('lossy/moved', { parents: true });
    const watch = await files().watch('lossy');
    const next = watch[Symbol.asyncIterator]();
    await signalWorkers('STOP');
    // The kernel keeps this many for whoever does not read them.
    const most = Number(text((await exec('cat /proc/sys/fs/inotify/max_queued_events')).stdout));
    const script = `cd lossy; i=0; while [ $i -lt ${most} ]; do : > a; : > b; i=$((i+2)); done; mkdir -p new/deep; mv moved there`;
    expect(await processes.exec(['sh', '-c', script])).toMatchObject({ code: 0 });
    await signalWorkers('CONT');
    let lost = false;
    while (!lost) lost = (await next.next()).value.overflow;
    await exec('cd lossy; echo > new/deep/file; echo > there/file; echo > last');
    const seen: string[] = [];
    while (!seen.includes('last'))
      seen.push(...(await next.next()).value.events.map(({ path }: { path: string }) => path));
    expect(seen).toEqual(expect.arrayContaining(['new/deep/file', 'there/file']));
    await next.return?.(undefined);
  });

  test('a watch calls a file that was written through us by its name, and its new content a write', async () => {
    await files().write('replaced/file', 'old', { parents: true });
    const watch = await files().watch('replaced');
    const next = watch[Symbol.asyncIterator]();
    await files().write('replaced/file', 'new', { mode: 0o600 });
    await files().write('replaced/last', '');
    const seen: string[] = [];
    while (!seen.includes('write last'))
      for (const { kind, path } of (await next.next()).value.events) seen.push(`${kind} ${path}`);
    expect(seen).toEqual(['create file', 'write file', 'create last', 'write last']);
    await next.return?.(undefined);
  });

  test('grep finds lines, with context, by globs and ignore files, and skips binaries', async () => {
    await exec(`mkdir -p g/src g/out; cd g; printf 'one\\ntwo needle\\nthree\\n' > src/a.c; printf 'Needle\\n' > src/b.h
      printf 'needle\\n' > out/x.c; printf 'a\\000needle\\n' > src/bin; echo 'out/' > .gitignore; echo needle > .hidden`);
    const found = async (pattern: string, options = {}): Promise<GrepMatch[]> => {
      const matches: GrepMatch[] = [];
      for await (const match of files().grep('g', pattern, options)) matches.push(match);
      return matches;
    };
    expect(await found('needle', { contextLines: 1 })).toEqual([
      { path: 'src/a.c', line: 2, text: 'two needle', start: 4, end: 10, before: ['one'], after: ['three'] },
    ]);
    const every = await found('n[e]{2}dle$', {
      syntax: 'extended',
      ignoreCase: true,
      ignoreFiles: false,
      hidden: true,
    });
    expect(every.map(({ path }) => path)).toEqual(['.hidden', 'out/x.c', 'src/a.c', 'src/b.h']);
    expect((await found('needle', { ignoreCase: true, include: ['*.h'] })).map(({ path }) => path)).toEqual([
      'src/b.h',
    ]);
    expect(await found('e', { maxMatches: 1 })).toHaveLength(1);
    await files().symlink('g-link', 'g/src/a.c');
    const linked: GrepMatch[] = [];
    for await (const match of files().grep('g-link', 'needle')) linked.push(match);
    expect(linked).toMatchObject([{ path: 'g-link', line: 2 }]);
    await expect(found('(', { syntax: 'extended' })).rejects.toMatchObject({ code: 'request_invalid' });
  });

  test('glob knows stars, braces, classes and depth', async () => {
    await exec(
      'mkdir -p gl/a/b gl/node_modules; cd gl; touch x.ts y.js a/z.ts a/b/deep.ts a/b/k.md .dot; echo node_modules > .gitignore; touch node_modules/q.ts',
    );
    expect(await paths(files().glob('gl', '**/*.ts'))).toEqual(['a/b/deep.ts', 'a/z.ts', 'x.ts']);
    expect(await paths(files().glob('gl', '*.{js,ts}'))).toEqual(['x.ts', 'y.js']);
    expect(await paths(files().glob('gl', 'a/[!x]*'))).toEqual(['a/b', 'a/z.ts']);
    expect(await paths(files().glob('gl', '.d?t', { hidden: true }))).toEqual(['.dot']);
  });

  test('a tree goes out as tar and comes in again, and no member leaves its directory', async () => {
    const long = 'n'.repeat(120);
    await exec(
      `mkdir -p t/sub/${long}; cd t; head -c 100000 /dev/urandom > sub/data; echo hi > ${'$'}(printf 'caf\\351'); ln -s sub/data link; chmod 711 sub/data; mkfifo pipe; echo deep > sub/${long}/f`,
    );
    const chunks: Uint8Array[] = [];
    for await (const chunk of files().tarOut('t')) chunks.push(Buffer.from(chunk));
    const archive = Buffer.concat(chunks);
    const result = await files().tarIn('t2', archive);
    expect(result).toEqual({ entries: 7, bytes: archive.length });
    expect(
      text((await exec('diff -r --no-dereference t t2 2>&1; stat -c %a t2/sub/data; readlink t2/link')).stdout),
    ).toMatch(/^(File t\/pipe is a fifo.*\n)?711\nsub\/data\n$/);
    const outside = await exec('mkdir o && cd o && tar -cP -f - ../../../etc/hostname 2>/dev/null | base64 -w0');
    await expect(files().tarIn('t3', Buffer.from(text(outside.stdout), 'base64'))).rejects.toMatchObject({
      context: { guestCode: 'invalid_argument' },
    });
    await exec(
      'mkdir -p s/real && cd s && ln -s /home/user t4 && cd real && echo evil > p && tar -cf ../e.tar --transform s,^,escape/, p; cd ../.. && mkdir t4 && ln -s /home/user t4/escape',
    );
    await expect(files().tarIn('t4', await files().readAll('s/e.tar'))).rejects.toThrow();
    await expect(files().tarIn('t5', Buffer.alloc(2000, 1))).rejects.toMatchObject({ code: 'request_invalid' });
  });

  test('files with several names go out of tar, and come in, as one', async () => {
    await exec('mkdir -p hl/sub; cd hl; echo once > a; ln a sub/b; ln a c');
    const chunks: Uint8Array[] = [];
    for await (const chunk of files().tarOut('hl')) chunks.push(Buffer.from(chunk));
    await files().tarIn('hl2', Buffer.concat(chunks));
    expect(
      text(
        (await exec('stat -c %h hl2/a; cmp hl2/a hl2/sub/b && stat -c %i hl2/a hl2/c hl2/sub/b | sort -u | wc -l'))
          .stdout,
      ),
    ).toBe('3\n1\n');
  });

  test('a user that stops its workers holds up no other user, and they are killed when their request is cancelled', async () => {
    const { processes } = under.guest().client;
    const stopper = await processes.spawn({ argv: ['sh', '-c', 'while :; do kill -STOP -1; done'] });
    const leaving = new AbortController();
    const { signal } = leaving;
    setMaxListeners(0, signal);
    const hanging = Array.from({ length: 20 }, () => files().stat('/etc/passwd', { signal }));
    hanging.push(files().write('stopped', slowly(), { signal }));
    await delay(300);
    for (let n = 0; n < 20; n += 1) await files().stat('/etc/passwd', { user: 'root' });
    leaving.abort();
    await Promise.allSettled(hanging);
    await stopper.signal(9);
    await stopper.wait();
    stopper.detach();
    await stopper.forget();
    const stopped = async () => {
      const script = "grep -ls 'State:.*stopped' /proc/[0-9]*/status | wc -l";
      return Number(text((await processes.exec(['sh', '-c', script], { user: 'root' })).stdout));
    };
    await expect.poll(stopped, { timeout: 10_000, interval: 200 }).toBe(0);
  });

  async function* slowly(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 100; n += 1) {
      yield Buffer.alloc(1000);
      await delay(100);
    }
  }

  /** To whoever works on files at the moment. */
  const signalWorkers = (name: string) => {
    const each = `[ "$(cat $p/comm)" = caisson-files ] && kill -${name} \${p#/proc/}`;
    return exec(`for p in /proc/[0-9]*; do ${each}; done; true`, { user: 'root' });
  };

  test('a worker that is stopped under an upload holds up nobody, and goes on where it was', async () => {
    const content = randomBytes(5_000_003);
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    async function* parts(): AsyncGenerator<Uint8Array> {
      yield content.subarray(0, 70_001);
      await signalWorkers('STOP');
      stop();
      yield content.subarray(70_001);
    }
    const writing = files().write('paused-upload', parts());
    await stopped;
    expect(await under.guest().client.ping()).toBeGreaterThan(0);
    await signalWorkers('CONT');
    expect(await writing).toMatchObject({ size: content.length });
    expect((await files().readAll('paused-upload')).equals(content)).toBe(true);
  });

  test('replacing a large file answers with the new one and leaves no process behind', async () => {
    for (const fill of [1, 2]) await files().write('large', Buffer.alloc(9 * 1024 * 1024, fill));
    expect(await files().stat('large')).toMatchObject({ size: 9 * 1024 * 1024 });
    expect((await exec('tail -c 1 large')).stdout).toEqual(Buffer.from([2]));
    const left = async () => {
      const script = "grep -ls 'State:.*zombie' /proc/[0-9]*/status | wc -l";
      return text((await exec(script, { user: 'root' })).stdout);
    };
    await expect.poll(left, { timeout: 10_000 * slowness, interval: 100 }).toBe('0\n');
    await files().remove('large');
  });

  test('a worker that is killed while it writes leaves nothing behind', async () => {
    await files().mkdir('killed');
    const writing = files().write('killed/file', slowly());
    writing.catch(() => {});
    await delay(200);
    await exec('pkill -9 caisson-files', { user: 'root' });
    await expect(writing).rejects.toThrow();
    expect(text((await exec('ls -A killed')).stdout)).toBe('');
  });

  test('the guest never calls statx', async ({ skip }) => {
    const probe = await under.guest().client.processes.exec(['sh', '-c', 'command -v strace'], { user: 'root' });
    if (probe.code !== 0) skip('needs strace');
    const traced = under
      .guest()
      .client.processes.exec(
        ['timeout', '-s', 'INT', '3', 'strace', '-f', '-p', '1', '-e', 'trace=statx', '-o', '/home/trace'],
        { user: 'root' },
      );
    await delay(700);
    await files().stat('/etc/passwd');
    await files().list('/etc', { depth: 2 });
    await files().write('s.txt', 'x');
    await under.guest().client.processes.exec(['/bin/true']);
    await traced;
    expect(text(await files().readAll('/home/trace', { user: 'root' }))).not.toMatch(/caisson.*statx|^1 +statx/m);
  });
}
