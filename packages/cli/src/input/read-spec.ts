import { open } from 'node:fs/promises';
import { CaissonError, type ErrorCode } from '@caisson/contract';
import type { Invocation } from '../invocation.ts';

/** Reads a spec as it was written: YAML or JSON, from a file or, as `-`, from the standard input. */
export async function readSpec(
  file: string,
  invocation: Pick<Invocation, 'readStdin'>,
  code: ErrorCode = 'spec_invalid',
): Promise<unknown> {
  const { maxDocumentBytes, readDocument } = await import('@caisson/server/documents');
  const bytes =
    file === '-' ? await invocation.readStdin(maxDocumentBytes) : await readFileUpTo(file, maxDocumentBytes);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, maxDocumentBytes + 1));
  } catch {
    // A character may be cut in two where reading stopped: then the length is what is wrong.
    if (bytes.byteLength > maxDocumentBytes) text = ' '.repeat(maxDocumentBytes + 1);
    else throw new CaissonError(code, `${describe(file)} is not UTF-8 text`);
  }
  return readDocument(text, code, describe(file));
}

/** A spec that goes into a request is an object; everything else about it is the normalizer's to judge. */
export function readSpecObject(
  file: string,
  invocation: Pick<Invocation, 'readStdin'>,
): Promise<Record<string, unknown>> {
  return readDocumentObject(file, invocation, 'spec_invalid');
}

/** The same for whatever else is written as such a document. */
export async function readDocumentObject(
  file: string,
  invocation: Pick<Invocation, 'readStdin'>,
  code: ErrorCode,
): Promise<Record<string, unknown>> {
  const spec = await readSpec(file, invocation, code);
  if (typeof spec === 'object' && spec !== null && !Array.isArray(spec)) return spec as Record<string, unknown>;
  const message = 'must be a map of fields';
  throw new CaissonError(code, `${describe(file)} ${message}`, {
    problems: [{ path: '$', code: 'wrong_type', message }],
  });
}

function describe(file: string): string {
  return file === '-' ? 'the standard input' : file;
}

async function readFileUpTo(file: string, maxBytes: number): Promise<Buffer> {
  try {
    const handle = await open(file, 'r');
    try {
      if ((await handle.stat()).isDirectory()) throw new CaissonError('request_invalid', `${file} is a folder`);
      const buffer = Buffer.alloc(maxBytes + 1);
      let length = 0;
      while (length < buffer.length) {
        const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return buffer.subarray(0, length);
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof CaissonError) throw error;
    const why = error instanceof Error ? error.message.replace(/^E[A-Z]+: /, '') : String(error);
    throw new CaissonError('request_invalid', `cannot read ${file}: ${why}`, { hint: 'Check the path of the file.' });
  }
}
