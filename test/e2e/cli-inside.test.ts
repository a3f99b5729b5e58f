import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessRecord, Sandbox } from '@caisson/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { CliWorld, kill, type Running } from './cli-world.ts';

const isRoot = process.getuid?.() === 0;
const env = { CAISSON_DRIVERS: 'oci' };
const spec = 'source: {kind: none}\nos: host\nruntime: {network: {mode: off}}\n';

/** Pids of the command itself with these last words, not of the shells around it. */
function commandsOf(words: readonly string[]): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const all = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      return all[0] === process.execPath && all.join(' ').trim().endsWith(words.join(' ')) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

describe('inside a real sandbox', () => {
  const world = new CliWorld();
  const run = (args: readonly string[], options: { stdin?: string | Buffer; env?: Record<string, string> } = {}) =>
    world.run(args, { ...options, env: { ...env, ...options.env } });
  const ps = async () => (await world.json<{ items: ProcessRecord[] }>(['ps', 'web'], env)).items;
  const stateOf = async (id: string) => (await ps()).find((process) => process.id === id)?.running;

  beforeAll(async () => {
    if (!isRoot) return;
    const made = await run(['create', '--spec', '-', '--name', 'web'], { stdin: spec });
    if (made.code !== 0) throw new Error(made.err);
  }, 120_000);
  afterAll(async () => {
    if (isRoot) {
      const { items } = await world.json<{ items: Sandbox[] }>(['list'], env);
      for (const { id } of items) await run(['destroy', id]);
      await run(['stop-server']);
    }
    await world.close();
  }, 120_000);
  beforeEach((context) => {
    if (!isRoot) skip(context, 'a real sandbox needs root');
  });

  test.each([
    [['--', 'sh', '-c', 'exit 7'], 7, ''],
    [['--', 'echo', 'a  b'], 0, 'a  b\n'],
    [['-c', 'echo "$1"', '--', 'x y'], 0, 'x y\n'],
    [['-c', 'kill -KILL $$'], 137, ''],
    [['--timeout', '1', '--', 'sleep', '30'], 124, ''],
    [['-e', 'A=1', '-w', '/tmp', '-u', 'root', '-c', 'echo $A $PWD $(id -u)'], 0, '1 /tmp 0\n'],
  ])('exec %j ends with %i', async (args, code, out) => {
    expect(await run(['exec', 'web', ...args])).toMatchObject({ code, out });
  });

  test('one word with spaces is one word', async () => {
    const { code, err } = await run(['exec', 'web', '--', 'echo a']);
    expect(code).toBe(65);
    expect(err).toContain('code: command_not_found');
  });

  test('stdin, stdout and stderr pass as they are, whatever they hold', async () => {
    const bytes = Buffer.alloc(5_000_000, 'é\u0000\u001b');
    const { code, out, err } = await run(['exec', 'web', '-c', 'cat >&2; echo done'], { stdin: bytes });
    expect({ code, out }).toEqual({ code: 0, out: 'done\n' });
    expect(Buffer.from(err).equals(Buffer.from(bytes.toString()))).toBe(true);
  });

  test('with --json the end and the output are one document', async () => {
    const { out, code } = await run(['exec', 'web', '--json', '-c', 'echo out; echo err >&2; exit 3']);
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ exitCode: 3, why: 'exited', stdout: 'out\n', stderr: 'err\n' });
  });

  test('a reader that has seen enough ends the command', async () => {
    const bin = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'caisson.mjs');
    const line = `"${process.execPath}" "${bin}" exec web -- yes caisson | head -1`;
    const { out, err } = await world.spawn('bash', ['-c', line], env).done;
    expect({ out, err }).toEqual({ out: 'caisson\n', err: '' });
    const left = (await ps()).filter(({ command, running }) => running && command.includes('yes caisson'));
    expect(left).toEqual([]);
  });

  test('Ctrl-C interrupts the command and not the sandbox', async () => {
    const command = world.start(['exec', 'web', '-c', 'trap "echo caught; exit 9" INT; echo up; sleep 30 & wait'], {
      env,
    });
    await command.until(/up/);
    command.child.kill('SIGINT');
    expect(await command.done).toMatchObject({ code: 9, out: 'up\ncaught\n' });
    expect((await run(['exec', 'web', '--', 'true'])).code).toBe(0);
  });

  test('a second Ctrl-C leaves the command and says how to come back', async () => {
    const script = 'trap "echo caught" INT; echo up; i=0; while [ $i -lt 300 ]; do sleep 0.1; i=$((i+1)); done';
    const command = world.start(['exec', 'web', '-c', script], { env });
    await command.until(/up/);
    command.child.kill('SIGINT');
    await command.until(/caught/);
    command.child.kill('SIGINT');
    const { code, err } = await command.done;
    expect(code).toBe(130);
    const [, id = ''] = /caisson attach web (\w+)/.exec(err) ?? [];
    expect(await stateOf(id)).toBe(true);
    const back = world.start(['attach', 'web', id, '--no-stdin'], { env });
    await back.until(/up\n(.*\n)*caught/);
    expect((await run(['kill', 'web', id, '-s', 'kill'])).out).toBe(`${id}\n`);
    expect((await back.done).code).toBe(137);
  });

  test('a killed command line leaves its process running', async () => {
    const command = world.start(['exec', 'web', '-c', 'echo $$ up; exec sleep 60'], { env });
    const [, pid = ''] = await command.until(/(\d+) up/);
    command.child.kill('SIGKILL');
    await command.done;
    const found = (await ps()).find((process) => process.pid === Number(pid));
    expect(found?.running).toBe(true);
    expect((await run(['kill', 'web', pid])).code).toBe(0);
    await expect.poll(() => stateOf(found?.id ?? '')).toBe(false);
  });

  test('a process in the background is listed, logged and followed', async () => {
    const started = await run([
      'exec',
      'web',
      '-d',
      '--tag',
      'count',
      '-c',
      'for i in 1 2 3; do echo $i; sleep 0.3; done',
    ]);
    const id = started.out.trim();
    expect(await stateOf(id)).toBe(true);
    expect((await run(['logs', 'web', 'count', '-f'])).out).toBe('1\n2\n3\n');
    expect((await run(['logs', 'web', id, '--tail', '2'])).out).toBe('2\n3\n');
    expect((await run(['ps', 'web'])).out).toMatch(new RegExp(`^PROCESS .*\n(.*\n)*${id} .*exited 0 .* count `));
    expect(await world.json(['stats', 'web'], env)).toMatchObject({ memoryBytes: expect.any(Number) });
  });

  const untilDetached = async (terminal: Running) => {
    terminal.child.stdin?.write('\x10\x11');
    const [, id = ''] = await terminal.until(/caisson attach web (\w+)/);
    return id;
  };

  test('a shell is a terminal: size, Ctrl-C, detaching and coming back', async () => {
    const first = world.onTerminal(['shell', 'web'], env);
    const type = (terminal: Running, text: string) => terminal.child.stdin?.write(text);
    const [, name = ''] = await first.until(/(\/dev\/pts\/\d+)/);
    await first.until(/[$#] /);
    type(first, 'echo size $(stty size); echo "term $TERM"\n');
    await first.until(/size 25 90[\s\S]*term xterm/);
    execFileSync('stty', ['-F', name, 'cols', '101', 'rows', '33']);
    await expect
      .poll(async () => {
        type(first, 'echo now $(stty size)\n');
        return first.until(/now (\d+ \d+)(?![\s\S]*now \d)/).then(([, size]) => size);
      })
      .toBe('33 101');
    type(first, 'marker=kept; sleep 60\n');
    await first.until(/sleep 60/);
    await new Promise((resolve) => setTimeout(resolve, 300));
    type(first, '\x03');
    type(first, 'echo ended $?\n');
    await first.until(/ended 130/);
    const id = await untilDetached(first);
    const left = await first.done;
    expect(left.code).toBe(0);
    expect(left.out).toMatch(/ icanon/);
    expect(left.out).toMatch(/^opost| opost/m);

    const second = world.onTerminal(['shell', 'web', '--process', id], env);
    const [replayed] = await second.until(/[\s\S]*ended 130[\s\S]*[$#] /);
    expect(replayed.split('ended 130')).toHaveLength(2);
    type(second, 'echo still $marker; exit 5\n');
    const end = await second.done;
    expect(end.out).toContain('still kept');
    expect(end.code).toBe(5);
    expect(end.out).toMatch(/ icanon/);
  }, 120_000);

  test('the terminal is restored when the command line is ended, and when the sandbox goes away', async () => {
    const name = `gone-${process.pid}`;
    expect((await run(['create', '--spec', '-', '--name', name], { stdin: spec })).code).toBe(0);
    const ended = world.onTerminal(['shell', name], env);
    await ended.until(/[$#] /);
    for (const pid of commandsOf(['shell', name])) kill(pid, 'SIGTERM');
    expect(await ended.done).toMatchObject({ code: 143, out: expect.stringMatching(/ icanon/) });
    const orphan = world.onTerminal(['shell', name], env);
    await orphan.until(/[$#] /);
    await run(['destroy', name]);
    const { out, code } = await orphan.done;
    expect(code).not.toBe(0);
    expect(out).toMatch(/ icanon/);
  }, 90_000);

  test('a folder goes in and comes back the same', async () => {
    const folder = join(world.home, 'project');
    mkdirSync(join(folder, 'src'), { recursive: true });
    writeFileSync(join(folder, 'run.sh'), 'echo hi', { mode: 0o755 });
    writeFileSync(join(folder, 'src', 'big'), Buffer.alloc(3_000_000, 'x'));
    symlinkSync('../run.sh', join(folder, 'src', 'link'));
    expect(await run(['cp', folder, 'web:/workspace/project'])).toMatchObject({ code: 0, out: '', err: '' });
    expect((await run(['exec', 'web', '-c', 'sh project/src/link; ls -l project | cut -c1-10 | tail -1'])).out).toMatch(
      /^hi\n/,
    );
    expect((await run(['ls', 'web', '/workspace/project', '-R'])).out).toBe('run.sh\nsrc/\nsrc/big\nsrc/link\n');
    const back = join(world.home, 'back');
    expect((await run(['cp', 'web:/workspace/project', back])).code).toBe(0);
    expect(statSync(join(back, 'run.sh')).mode & 0o777).toBe(0o755);
    expect(readFileSync(join(back, 'src', 'big'))).toHaveLength(3_000_000);
    expect(readlinkSync(join(back, 'src', 'link'))).toBe('../run.sh');
    expect((await run(['cp', 'web:/workspace/project/run.sh', '-'])).out).toBe('echo hi');
    expect((await run(['cp', '-', 'web:/workspace/in'], { stdin: 'piped' })).code).toBe(0);
    expect((await run(['cat', 'web', '/workspace/in'])).out).toBe('piped');
  });

  test('names of a sandbox cannot command the terminal', async () => {
    await run(['exec', 'web', '-c', 'mkdir -p odd; touch "$(printf "odd/\\033[2Jx")"']);
    expect((await run(['ls', 'web', '/workspace/odd'])).out).toBe('\\x1b[2Jx\n');
    expect((await run(['ls', 'web', '/workspace/odd', '-l'])).out).toContain('\\x1b[2Jx');
  });

  test('a file is written, edited when it was changed, and not when somebody else changed it', async () => {
    expect((await run(['write', 'web', '/workspace/f', '-m', '600'], { stdin: 'one\n' })).code).toBe(0);
    const edit = (editor: string) =>
      run(['edit', 'web', '/workspace/f'], { env: { EDITOR: editor, TMPDIR: world.home } });
    expect((await edit('true')).out).toBe('/workspace/f is as it was\n');
    expect((await edit('sed -i s/one/two/')).out).toBe('/workspace/f is written\n');
    expect((await run(['cat', 'web', '/workspace/f'])).out).toBe('two\n');
    expect((await run(['ls', 'web', '/workspace/f', '-l'])).out).toContain('-rw-------');
    const bin = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'caisson.mjs');
    const other = `echo theirs | "${process.execPath}" "${bin}" write web /workspace/f >/dev/null; sed -i s/two/mine/`;
    const refused = await edit(other);
    expect(refused).toMatchObject({ code: 73, err: expect.stringContaining('code: edit_conflict') });
    const [, copy = ''] = /your copy is kept: (.+)/.exec(refused.err) ?? [];
    expect(readFileSync(copy, 'utf8')).toBe('mine\n');
    expect((await run(['cat', 'web', '/workspace/f'])).out).toBe('theirs\n');
  });
});
