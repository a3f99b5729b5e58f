import { CaissonError, newId, outputKinds, toProblem } from '@caisson/contract';
import { expect, test } from 'vitest';
import { Connection } from './connection.ts';
import { SocketAttachment } from './socket-attachment.ts';
import type { WebSocketLike } from './web-socket.ts';

const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** A socket that is told of by hand, and a server that knows no process any more. */
function world() {
  const asked: string[] = [];
  const listeners = new Map<string, ((event: { data?: unknown }) => void)[]>();
  const tell = (type: string, data?: unknown) => {
    for (const listener of listeners.get(type) ?? []) listener({ data });
  };
  const socket: WebSocketLike = {
    binaryType: 'arraybuffer',
    readyState: 1,
    send: () => {},
    close: () => {},
    addEventListener: (type, listener) => void listeners.set(type, [...(listeners.get(type) ?? []), listener]),
  };
  const fetch = async (url: string) => {
    asked.push(url);
    return new Response(JSON.stringify(toProblem(new CaissonError('process_not_found'))), { status: 404 });
  };
  const connection = new Connection({ baseUrl: 'http://server.example', fetch, webSocket: () => socket, retries: 0 });
  const attachment = SocketAttachment.open(connection, newId('sandbox'), newId('process'), {});
  const problem = (code: ConstructorParameters<typeof CaissonError>[0]) =>
    tell('message', Uint8Array.of(outputKinds.problem, ...text(toProblem(new CaissonError(code)))).buffer);
  return { asked, attachment, problem, closed: () => tell('close') };
}

test.each(['attachment_taken', 'rollback_in_progress'] as const)(
  'it ends with %s where the server says so and closes the socket at once',
  async (code) => {
    const { asked, attachment, problem, closed } = world();
    const reading = (async () => {
      for await (const _ of attachment ?? []);
    })();
    problem(code);
    closed();
    await expect(reading).rejects.toMatchObject({ code });
    expect(asked).toEqual([]);
  },
);
