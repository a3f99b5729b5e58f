import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { buildVariant } from '../../build.mjs';

/** The program with sanitizers, on archives that were damaged at random: whatever it is given, it answers. */
let program: string;
const isRoot = process.getuid?.() === 0;

beforeAll(() => {
  program = buildVariant('asan', { quiet: true });
}, 120_000);

function unpack(tar: Buffer, folder: string, ...args: string[]) {
  const env = { ASAN_OPTIONS: 'detect_leaks=0' };
  const { stdout, stderr, status } = spawnSync(program, ['unpack', folder, ...args], { input: tar, env });
  return { answer: stdout.toString(), words: stderr.toString(), status };
}

function archive(folder: string, format = 'pax'): Buffer {
  const script = `rm -rf a && mkdir -p a/b && echo x > a/b/file && ln a/b/file a/hard && ln -s b a/soft && mkfifo a/pipe &&
    touch a/.wh.gone a/b/.wh..wh..opq && setfattr -n user.note -v x a/b/file &&
    mkdir a/${'n'.repeat(120)} && touch a/${'n'.repeat(120)}/${'m'.repeat(120)} &&
    tar --format=${format} ${format === 'pax' ? '--xattrs' : ''} -cf - a`;
  const { stdout, stderr, status } = spawnSync('sh', ['-c', script], { cwd: folder });
  if (status !== 0) throw new Error(stderr.toString());
  return stdout;
}

test.runIf(isRoot)(
  'a damaged archive is unpacked or refused, and nothing is made outside of the folder',
  () => {
    const scratch = mkdtempSync(join(tmpdir(), 'caisson-unpack-'));
    try {
      const source = join(scratch, 'source');
      mkdirSync(source);
      const archives = [archive(source), archive(source, 'gnu')];
      // Numbers that look random and are the same in each run.
      let state = 20_260_731;
      const random = (below: number) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
        return (state >>> 8) % below;
      };
      const answers = new Set<string>();
      for (let run = 0; run < 150; run++) {
        const damaged = Buffer.from(archives[(run >> 1) % 2] ?? '');
        for (let n = 0; n < run % 8; n++) damaged[random(damaged.length)] = random(256);
        // A header with a right checksum gets past the first look.
        if (run % 2 === 1) repair(damaged);
        const folder = join(scratch, 'out', String(run));
        mkdirSync(folder, { recursive: true });
        const { answer, words, status } = unpack(
          run % 5 === 4 ? damaged.subarray(0, random(damaged.length)) : damaged,
          folder,
        );
        expect(words, `run ${run}`).toBe('');
        const { ok, reason } = JSON.parse(answer) as { ok: boolean; reason?: string };
        expect(status).toBe(ok ? 0 : 1);
        answers.add(reason ?? 'ok');
      }
      expect([...answers].sort()).toEqual(expect.arrayContaining(['invalid', 'ok', 'truncated']));
      expect(readdirSync(scratch).sort()).toEqual(['out', 'source']);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  },
  120_000,
);

function repair(tar: Buffer): void {
  for (let at = 0; at + 512 <= tar.length; at += 512) {
    if (tar.toString('latin1', at + 257, at + 262) !== 'ustar') continue;
    let sum = 0;
    for (let n = 0; n < 512; n++) sum += n >= 148 && n < 156 ? 32 : (tar[at + n] ?? 0);
    tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
  }
}

test.runIf(isRoot)('the bounds of its arguments hold, and an argument that is none is refused', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'caisson-unpack-'));
  try {
    const tar = archive(scratch);
    const folder = (name: string) => {
      mkdirSync(join(scratch, name));
      return join(scratch, name);
    };
    expect(JSON.parse(unpack(tar, folder('one'), '--max-entries', '3').answer)).toMatchObject({ reason: 'limit' });
    expect(JSON.parse(unpack(tar, folder('two'), '--max-bytes', '1000').answer)).toMatchObject({ reason: 'limit' });
    expect(JSON.parse(unpack(tar, join(scratch, 'none')).answer)).toMatchObject({ reason: 'system' });
    expect(unpack(tar, folder('three'), '--max-bytes', 'many').status).toBe(2);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
