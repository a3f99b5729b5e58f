import { CaissonError, frameHeader, newId, type OutputKind, toProblem } from '@caisson/contract';
import { expect, test } from 'vitest';
import { Connection } from './connection.ts';
import { run } from './exec.ts';

const sandbox = newId('sandbox');
const process = newId('process');
const text = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const frame = (kind: OutputKind, value: unknown) => {
  const bytes = text(value);
  return Buffer.concat([frameHeader(kind, bytes.byteLength), bytes]);
};
const started = frame('started', { process, pid: 7, pty: false, stdoutFrom: 0, stderrFrom: 0, stdinAt: 0 });
const exit = frame('exit', { exitCode: 0, signal: null, why: 'exited', stdoutBytes: 6, stderrBytes: 0 });

/** Answers one after the other; each ends where its bytes do, in order or broken. */
function server(answers: { bytes: Uint8Array; breaks?: boolean }[]) {
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    const answer = answers.shift();
    if (!answer) throw new Error('nobody listens');
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(answer.bytes);
      },
      pull(controller) {
        if (answer.breaks) controller.error(new Error('reset'));
        else controller.close();
      },
    });
    return new Response(body, { headers: { 'x-caisson-process': process } });
  };
  return { asked, connection: new Connection({ baseUrl: 'http://server.example', fetch, retries: 0 }) };
}

test('a stream that breaks is gone on with from the bytes that came', async () => {
  const { asked, connection } = server([
    { bytes: Buffer.concat([started, frame('stdout', 'abc')]), breaks: true },
    { bytes: Buffer.concat([started, frame('stdout', 'de')]) },
    { bytes: Buffer.concat([started, frame('stdout', 'f'), exit]) },
  ]);
  let out = '';
  const done = await run(connection, sandbox, 'x', { onStdout: (bytes) => (out += new TextDecoder().decode(bytes)) });
  expect(out).toBe('abcdef');
  expect(done).toMatchObject({ exitCode: 0, process, lost: 0 });
  expect(asked.map((url) => new URL(url).search)).toEqual([
    '',
    '?stdoutFrom=3&stderrFrom=0',
    '?stdoutFrom=5&stderrFrom=0',
  ]);
});

test('bytes that are no longer kept count as lost, and the offset goes on behind them', async () => {
  const { asked, connection } = server([
    { bytes: Buffer.concat([started, frame('lost', { stream: 'stdout', bytes: 10, at: 10 }), frame('stdout', 'a')]) },
    { bytes: Buffer.concat([started, exit]) },
  ]);
  expect(await run(connection, sandbox, 'x', {})).toMatchObject({ lost: 10 });
  expect(asked[1]).toContain('stdoutFrom=11');
});

test.each(['attachment_taken', 'rollback_in_progress'] as const)(
  'the problem %s in the stream is thrown, and not asked again: that is of no use',
  async (code) => {
    const problem = frame('problem', toProblem(new CaissonError(code)));
    const { asked, connection } = server([{ bytes: Buffer.concat([started, problem]) }]);
    await expect(run(connection, sandbox, 'x', {})).rejects.toMatchObject({ code });
    expect(asked).toHaveLength(1);
  },
);

test('a server that stays away is given up', async () => {
  const { connection } = server([{ bytes: started }]);
  await expect(run(connection, sandbox, 'x', { reconnectSeconds: 0.3 })).rejects.toMatchObject({
    code: 'server_unreachable',
  });
});
