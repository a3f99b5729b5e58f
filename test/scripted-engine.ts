import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '../packages/server/src/drivers/docker/engine.ts';

export interface ScriptedEngine {
  readonly engine: Engine;
  /** Its socket. */
  readonly path: string;
  close(): void;
}

/** In the place of an engine: does with each connection what the test wants, once something has been asked on it. */
export async function scriptedEngine(behave: (socket: Socket, asked: string) => void): Promise<ScriptedEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'csn-engine-'));
  const path = join(folder, 'socket');
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', (chunk) => behave(socket, chunk.toString('latin1')));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const engine = new Engine({ kind: 'unix', path }, []);
  return {
    engine,
    path,
    close() {
      engine.close();
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export const answer = (status: string, body: string, type = 'application/json') =>
  `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;

/** Answers every question by its path, without what stands before `/containers` and the like. */
export function answering(documents: Readonly<Record<string, unknown>>) {
  return (socket: Socket, asked: string) => {
    const path = asked.split(' ')[1] ?? '';
    const found = path in documents;
    socket.end(
      answer(found ? '200 OK' : '404 Not Found', JSON.stringify(documents[path] ?? { message: 'no such thing' })),
    );
  };
}
