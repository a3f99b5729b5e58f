import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { channelVectors } from '../../testing/channel-states.ts';
import { decodeChunks, decodeDeep } from '../../testing/decode-stream.ts';
import { type Extent, exampleValue, toJson } from '../../testing/example-value.ts';
import { invalidStreams } from '../../testing/invalid-streams.ts';
import { renderTables } from '../../testing/render-tables.ts';
import { sampleFrames } from '../../testing/sample-stream.ts';
import { decodeMessage } from './decode-message.ts';
import { encodeMessage } from './encode-message.ts';
import { allMessages } from './methods.ts';
import { ProtocolError, type Violation, violations } from './protocol-error.ts';
import { renderHeader } from './render-header.ts';

/**
 * What is derived from the tables and checked in. After changing a table:
 * `CAISSON_WRITE_GENERATED=1 npx vitest run packages/guest/src/protocol/generated.test.ts`, then format, and read the
 * difference.
 */
const write = process.env.CAISSON_WRITE_GENERATED === '1';
const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

function check(file: string, wanted: string, normal: (text: string) => unknown = (text) => text): void {
  if (write) writeFileSync(pathOf(file), wanted);
  expect(normal(readFileSync(pathOf(file), 'utf8'))).toEqual(normal(wanted));
}

/** Only the content is compared: the formatter lays out JSON and aligns the columns of tables as it likes. */
function checkVectors(file: string, vectors: readonly unknown[]): void {
  check(file, JSON.stringify(vectors, null, 2), JSON.parse);
}
const squeeze = (markdown: string) => markdown.replace(/ {2,}/g, ' ').replace(/-{3,}/g, '---').split('\n');

function messageVectors() {
  return [...allMessages.values()].flatMap((def) =>
    (['least', 'full'] satisfies Extent[]).map((extent) => {
      const value = exampleValue(def, extent);
      const encoded = encodeMessage(def, value);
      expect(decodeMessage(def, encoded)).toEqual(value);
      return { message: def.name, extent, value: toJson(def, value), hex: encoded.toString('hex') };
    }),
  );
}

function frameVectors() {
  return sampleFrames.map(({ about, bytes }) => {
    const [frame] = decodeChunks([bytes]);
    if (frame !== undefined) decodeDeep(frame);
    const payload = Buffer.from(frame?.payload ?? []).toString('hex');
    return { about, hex: bytes.toString('hex'), type: frame?.type ?? null, channel: frame?.channel ?? null, payload };
  });
}

test('the C header is the one that the tables give', () => {
  check('native/protocol.h', renderHeader());
});

test('the C header compiles', ({ skip }) => {
  const arguments_ = ['-std=c11', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-x', 'c'];
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
  } catch {
    skip('no C compiler here; the build of the guest compiles the header too');
  }
  const source = `#include "${pathOf('native/protocol.h')}"\nint main(void) { return caisson_methods[0].number == 0; }\n`;
  execFileSync('cc', [...arguments_, '-'], { input: source });
});

test('the golden frames are what the codec gives', () => {
  checkVectors('vectors/frames.json', frameVectors());
});

test('the golden messages are what the codec gives, and decode to their values', () => {
  checkVectors('vectors/messages.json', messageVectors());
});

test('the golden channel table is what the state machine gives', () => {
  checkVectors('vectors/channels.json', channelVectors());
});

test('the golden invalid streams are refused with their violations', () => {
  checkVectors('vectors/invalid.json', invalidStreams);
  for (const { about, hex, violation } of invalidStreams) {
    let seen = 'accepted';
    try {
      for (const frame of decodeChunks([Buffer.from(hex, 'hex')])) decodeDeep(frame);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      seen = error.code;
    }
    expect({ about, seen }).toEqual({ about, seen: violation });
  }
});

test('the golden invalid streams show every violation that bytes alone can show', () => {
  const shown = new Set(invalidStreams.map(({ violation }) => violation));
  const byBytes = Object.keys(violations).slice(0, Object.keys(violations).indexOf('handshake_order'));
  // A message of 16,385 fields would make the file longer than all the rest; message.test.ts has it.
  expect(byBytes.filter((name) => !shown.has(name as Violation))).toEqual(['too_many_fields']);
});

test('the tables in PROTOCOL.md are those of the code, each once and none besides', () => {
  const tables = renderTables();
  const text = readFileSync(pathOf('PROTOCOL.md'), 'utf8');
  const used: string[] = [];
  const wanted = text.replace(/<!-- table:(\w+) -->\n[\s\S]*?<!-- end -->/g, (_, name: string) => {
    used.push(name);
    return `<!-- table:${name} -->\n\n${tables[name]}\n\n<!-- end -->`;
  });
  expect(used.sort()).toEqual(Object.keys(tables).sort());
  check('PROTOCOL.md', wanted, squeeze);
});

test('PROTOCOL.md names no method, limit or frame that does not exist', () => {
  const text = readFileSync(pathOf('PROTOCOL.md'), 'utf8').replace(/<!-- table:[\s\S]*?<!-- end -->/g, '');
  const known = Object.values(renderTables()).join('\n');
  const unknown = [...text.matchAll(/`((?:process|file|port|proxy|sys)\.\w+|\w+(?:Max|Min|Deadline|After|Total))`/g)]
    .map(([, name]) => name ?? '')
    .filter((name) => !known.includes(`\`${name}\``));
  expect(unknown).toEqual([]);
});
