import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CaissonError } from '@caisson/contract';
import * as z from 'zod';

const countsSchema = z.object({
  ok: z.literal(true),
  bytes: z.int(),
  entries: z.int(),
  files: z.int(),
  directories: z.int(),
  links: z.int(),
  symlinks: z.int(),
  fifos: z.int(),
  whiteouts: z.int(),
  opaque: z.int(),
  skippedDevices: z.int(),
  skippedAttributes: z.int(),
});
const refusalSchema = z.object({
  ok: z.literal(false),
  reason: z.enum(['invalid', 'truncated', 'limit', 'system']),
  errno: z.int(),
  message: z.string(),
  cause: z.string(),
});
const answerSchema = z.discriminatedUnion('ok', [countsSchema, refusalSchema]);

export type UnpackCounts = Omit<z.infer<typeof countsSchema>, 'ok'>;

export interface UnpackOptions {
  readonly guestProgram: string;
  readonly maxBytes: number;
  readonly maxEntries: number;
  /** Whether they are the changes of a sandbox, whose access lists are kept; those of an image mean nothing here. */
  readonly accessLists?: boolean;
  readonly signal: AbortSignal;
}

const ENOSPC = 28;
const EDQUOT = 122;
/** Its answer is one line. */
const maxAnswerBytes = 8192;

/** Unpacks a plain tar into an empty folder, in a process that is locked into it. */
export async function unpackTar(
  tar: AsyncIterable<Uint8Array>,
  folder: string,
  options: UnpackOptions,
): Promise<UnpackCounts> {
  const { guestProgram, maxBytes, maxEntries, accessLists = false, signal } = options;
  const args = ['unpack', folder, '--max-bytes', String(maxBytes), '--max-entries', String(maxEntries)];
  if (accessLists) args.push('--access-lists', '1');
  const child = spawn(guestProgram, args, { stdio: ['pipe', 'pipe', 'pipe'], env: {}, signal, killSignal: 'SIGKILL' });
  let answer = '';
  let words = '';
  child.stdout.on('data', (chunk: Buffer) => {
    answer = (answer + chunk).slice(0, maxAnswerBytes);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk).slice(-maxAnswerBytes);
  });
  let spawnError: Error | undefined;
  const ended = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      spawnError = error;
      if (child.pid === undefined) resolve();
    });
    child.on('close', () => resolve());
  });
  let sourceError: unknown;
  await pipeline(Readable.from(tar, { objectMode: false }), child.stdin).catch((error: unknown) => {
    sourceError = error;
    // It would wait for more of an archive that does not come; one that has refused is at its end already.
    if (!isPipeError(error)) child.kill('SIGKILL');
  });
  await ended;
  signal.throwIfAborted();
  if (sourceError !== undefined && !isPipeError(sourceError)) throw sourceError;
  const parsed = answerSchema.safeParse(parse(answer));
  if (!parsed.success) throw broken(guestProgram, spawnError, words);
  if (parsed.data.ok) return parsed.data;
  throw refusal(parsed.data);
}

/** It closes its input when it refuses; that is not the reason. */
function isPipeError(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'EPIPE' || code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function broken(program: string, cause: Error | undefined, words: string): CaissonError {
  const why = cause?.message ?? (words.trim() || 'it ended without an answer');
  return new CaissonError('storage_failed', `the layer cannot be unpacked: ${why}`, {
    hint: 'The guest program may be older than the server; build it again with `npm run build`.',
    context: { program, words },
    cause,
  });
}

function refusal({ reason, errno, message, cause }: z.infer<typeof refusalSchema>): CaissonError {
  if (reason === 'limit') return new CaissonError('image_too_large', `a layer is too large: ${message}`);
  if (reason === 'invalid') return new CaissonError('image_invalid', `a layer is refused: ${message}`);
  if (reason === 'truncated') return new CaissonError('image_invalid', `a layer is not whole: ${message}`);
  const full = errno === ENOSPC || errno === EDQUOT;
  return new CaissonError(
    full ? 'storage_full' : 'storage_failed',
    `the layer cannot be unpacked: ${message}: ${cause}`,
  );
}
