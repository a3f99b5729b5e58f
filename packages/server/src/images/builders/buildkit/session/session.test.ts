import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GrpcClient } from '../grpc/client.ts';
import { Message, writeMessage } from '../grpc/protobuf.ts';
import { serveGrpc } from '../grpc/server.ts';
import { folderEntries, inOrder, madeFile } from './context-tree.ts';
import { PieceStream } from './piece-stream.ts';
import { Session, type SessionParts } from './session.ts';

const soon = () => AbortSignal.timeout(10_000);
const parts: SessionParts = { trees: {}, mtimeSeconds: 946_684_800, sharedKey: 'k' };

/** BuildKit's side of a session: the client that it speaks with on the stream that was opened for it. */
function farSide(session: SessionParts): { far: Promise<GrpcClient>; close(): void } {
  const [near, other] = duplexPair();
  let take: (client: GrpcClient) => void = () => {};
  const far = new Promise<GrpcClient>((resolve) => {
    take = resolve;
  });
  serveGrpc(other, {
    '/moby.buildkit.v1.Control/Session': async (call) => {
      take(new GrpcClient(new PieceStream(call)));
      await call.over();
    },
  });
  const client = new GrpcClient(near);
  const opened = new Session(client, session);
  return {
    far,
    close() {
      opened.close();
      client.close();
    },
  };
}

/** Takes a whole tree, as BuildKit does. */
async function takeTree(client: GrpcClient, name: string): Promise<{ path: string; mode: number; text: string }[]> {
  const call = client.open('/moby.filesync.v1.FileSync/DiffCopy', { 'dir-name': name });
  const found: { path: string; mode: number; text: string }[] = [];
  let open = 0;
  let isListed = false;
  for await (const bytes of call.messages()) {
    const message = new Message(bytes);
    const stat = message.message(2);
    if (message.uint(1) === 0 && stat) {
      found.push({ path: stat.string(1), mode: stat.uint(2), text: stat.string(7) });
      if (stat.uint(2) < 2 ** 20) {
        open += 1;
        await call.send(writeMessage([1, 1], [3, found.length - 1]));
      }
    } else if (message.uint(1) === 0) isListed = true;
    else if (message.uint(1) === 2 && message.has(4)) {
      const entry = found[message.uint(3)];
      if (entry) entry.text += message.string(4);
    } else if (message.uint(1) === 2) open -= 1;
    if (isListed && open === 0) await call.send(writeMessage([1, 3]));
    if (message.uint(1) === 3) call.endSending();
  }
  return found;
}

test('a tree is listed in order, and its files are sent as they are asked for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-tree-'));
  try {
    mkdirSync(join(folder, 'a'));
    writeFileSync(join(folder, 'a', 'run'), 'x'.repeat(300_000), { mode: 0o755 });
    writeFileSync(join(folder, 'a.b'), 'plain', { mode: 0o640 });
    symlinkSync('/etc/shadow', join(folder, 'a', 'link'));
    const context = [...(await folderEntries(folder, 100)), madeFile('deep/er/made', Buffer.from('here'))];
    const { far, close } = farSide({ ...parts, trees: { context } });
    const folderBits = 2 ** 31 + 0o755;
    const found = await takeTree(await far, 'context');
    expect(found.map(({ path, mode }) => [path, mode])).toEqual([
      ['a', folderBits],
      ['a/link', 2 ** 27 + 0o777],
      ['a/run', 0o755],
      ['a.b', 0o640],
      ['deep', folderBits],
      ['deep/er', folderBits],
      ['deep/er/made', 0o644],
    ]);
    expect(found[1]?.text).toBe('/etc/shadow');
    expect(found[2]?.text).toHaveLength(300_000);
    expect(found.at(-1)?.text).toBe('here');
    close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what a folder holds stands right behind it', () => {
  const path = fc.array(fc.constantFrom('a', 'b', 'a.b', 'a-b', 'ä'), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(path, { maxLength: 12 }), (paths) => {
      const ordered = inOrder(paths.map((names) => madeFile(names.join('/'), Buffer.alloc(0)))).map((one) => one.path);
      for (const [index, one] of ordered.entries()) {
        const parent = one.split('/').slice(0, -1).join('/');
        if (parent === '') continue;
        const at = ordered.indexOf(parent);
        expect(at).toBeLessThan(index);
        expect(ordered.slice(at + 1, index).every((between) => between.startsWith(`${parent}/`))).toBe(true);
      }
    }),
  );
});

test('secrets and sockets are there by their id, and no others', async () => {
  const connect = { http: (stream: NodeJS.ReadWriteStream) => void stream.pipe(stream) };
  const { far, close } = farSide({ ...parts, secrets: { token: Buffer.from('s3cret') }, connect });
  const client = await far;
  const ask = (path: string, id: string) => client.call(path, writeMessage([1, id]), soon());
  expect(new Message(await ask('/moby.buildkit.secrets.v1.Secrets/GetSecret', 'token')).string(1)).toBe('s3cret');
  await expect(ask('/moby.buildkit.secrets.v1.Secrets/GetSecret', 'other')).rejects.toMatchObject({ code: 5 });
  await ask('/moby.sshforward.v1.SSH/CheckAgent', 'http');
  await expect(ask('/moby.sshforward.v1.SSH/CheckAgent', 'constructor')).rejects.toMatchObject({ code: 5 });
  const stream = new PieceStream(client.open('/moby.sshforward.v1.SSH/ForwardAgent', { 'buildkit.ssh.id': 'http' }));
  stream.end('there and back');
  let text = '';
  for await (const chunk of stream) text += chunk;
  expect(text).toBe('there and back');
  close();
});

test('what is asked for beyond the list ends the call', async () => {
  const { far, close } = farSide({ ...parts, trees: { context: [madeFile('a', Buffer.from('b'))] } });
  const call = (await far).open('/moby.filesync.v1.FileSync/DiffCopy', { 'dir-name': 'context' });
  await call.send(writeMessage([1, 1], [3, 99]));
  const read = async () => {
    for await (const _ of call.messages()) void _;
  };
  await expect(read()).rejects.toThrow('no file 99');
  close();
});

test('content is read by its digest, on and on or from any place, and nothing else is there', async () => {
  const bytes = Buffer.from(Array.from({ length: 1_500_000 }, (_, n) => (n * 31) % 251));
  let opened = 0;
  const open = async function* () {
    opened += 1;
    for (let at = 0; at < bytes.length; at += 70_000) yield bytes.subarray(at, at + 70_000);
  };
  const blob = { digest: 'sha256:1', size: bytes.length, open };
  const { far, close } = farSide({ ...parts, blobs: [blob] });
  const client = await far;
  const service = '/containerd.services.content.v1.Content';
  const read = async (offset: number, size: number, digest = blob.digest) => {
    const call = client.open(`${service}/Read`);
    await call.send(writeMessage([1, digest], [2, offset], [3, size]));
    call.endSending();
    const found: Buffer[] = [];
    for await (const message of call.messages()) found.push(new Message(message).bytes(2));
    return Buffer.concat(found);
  };
  const info = new Message(await client.call(`${service}/Info`, writeMessage([1, blob.digest]), soon()));
  expect(info.message(1)?.uint(2)).toBe(bytes.length);
  for (const [offset, size] of [
    [0, 100],
    [100, 1_000_000],
    [1_400_000, 100_000],
  ] as const)
    expect((await read(offset, size)).equals(bytes.subarray(offset, offset + size))).toBe(true);
  expect(opened).toBe(1);
  expect((await read(5, 10)).equals(bytes.subarray(5, 15))).toBe(true);
  expect(opened).toBe(2);
  expect((await read(1_400_000, 0)).equals(bytes.subarray(1_400_000))).toBe(true);
  expect(await read(bytes.length, 10)).toHaveLength(0);
  await expect(read(bytes.length + 1, 10)).rejects.toMatchObject({ code: 11 });
  await expect(read(0, 1, 'sha256:2')).rejects.toMatchObject({ code: 5 });
  close();
});
