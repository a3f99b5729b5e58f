import { createReadStream } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { type Agent, request as tlsRequest } from 'node:https';
import { askOutside, responseOf } from '../ask-outside.ts';

/** Without a byte for so long, a connection is given up and tried again. */
const silenceMs = 30_000;
/** After the last byte of a blob a registry may have to look at all of it once more. */
const commitMs = 120_000;
/** What a registry says of an upload is a few lines. */
const maxWords = 65_536;

/** A part of a file, from `start` on, `size` bytes long. */
export interface FilePart {
  readonly file: string;
  readonly start: number;
  readonly size: number;
}

export interface Question {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | FilePart | undefined;
}

/** One request, without following anything. Its answer must begin in time. `agent`: whom to trust besides. */
export async function ask(url: URL, question: Question, signal: AbortSignal, agent?: Agent): Promise<Response> {
  const { method, headers, body } = question;
  if (body !== undefined && 'file' in body) return sendFile(url, { method, headers, body }, signal, agent);
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error('it does not answer')), silenceMs);
  try {
    const asked = {
      method,
      headers: { 'accept-encoding': 'identity', ...headers },
      redirect: 'manual' as const,
      signal: AbortSignal.any([signal, silence.signal]),
      ...(body === undefined ? {} : { body }),
    };
    return await askOutside(url, asked, agent);
  } finally {
    clearTimeout(timer);
  }
}

/** By hand, because `fetch` takes a stream at a third of the speed. */
function sendFile(
  url: URL,
  { method, headers, body }: { method: string; headers: Readonly<Record<string, string>>; body: FilePart },
  signal: AbortSignal,
  agent: Agent | undefined,
): Promise<Response> {
  const { file, start, size } = body;
  const isTls = url.protocol === 'https:';
  const open = isTls ? tlsRequest : plainRequest;
  const by = isTls && agent !== undefined ? { agent } : {};
  return new Promise((resolve, reject) => {
    const outgoing = open(url, { method, headers: { ...headers, 'content-length': String(size) }, signal, ...by });
    const content = createReadStream(file, { start, end: start + size - 1, highWaterMark: 1024 * 1024 });
    let answered = false;
    const fail = (error: Error) => {
      content.destroy();
      outgoing.destroy();
      if (!answered) reject(error);
    };
    outgoing.setTimeout(commitMs, () => fail(new Error('it does not take the bytes')));
    outgoing.on('error', fail);
    content.on('error', fail);
    outgoing.on('response', (incoming) => {
      // It may refuse before it has everything; then the rest is not sent.
      answered = true;
      content.unpipe(outgoing);
      let words = Buffer.alloc(0);
      incoming.on('data', (chunk: Buffer) => {
        if (words.length < maxWords) words = Buffer.concat([words, chunk]).subarray(0, maxWords);
      });
      const done = () => {
        content.destroy();
        if (!outgoing.writableFinished) outgoing.destroy();
        try {
          resolve(responseOf(incoming.statusCode ?? 500, incoming.headers, new Uint8Array(words)));
        } catch (error) {
          // What it says cannot be told in the terms of HTTP.
          reject(error);
        }
      };
      incoming.on('end', done);
      incoming.on('error', done);
      incoming.on('close', done);
    });
    content.pipe(outgoing);
  });
}
