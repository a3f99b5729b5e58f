import { CaissonError, fromProblem } from '@caisson/contract';
import type { FetchAnswer } from './transport.ts';

/** A page of 200 of the largest records stays below this; more is not an answer of a Caisson server. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** What stands in an error of an answer that cannot be read: enough to recognize a proxy's page. */
const excerptChars = 200;

/** The value that the server answered, or the error that it answered. */
export async function readAnswer(response: FetchAnswer): Promise<unknown> {
  const text = await readText(response);
  const value = parseJson(text);
  if (response.ok && value !== undefined && isJson(response)) return value.json;
  if (!response.ok && value !== undefined) throw withRetryAfter(fromProblem(value.json, response.status), response);
  // Something between us and the server answered; a gateway's 502 to 504 still says that the server is away.
  if (!response.ok) throw withRetryAfter(fromProblem(undefined, response.status), response, text);
  throw new CaissonError('internal', 'the answer is not one of a Caisson server', {
    hint: 'Check that the address is that of a Caisson server.',
    context: { status: response.status, contentType: response.headers.get('content-type'), answer: excerpt(text) },
  });
}

function isJson(response: FetchAnswer): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get('content-type') ?? '');
}

function parseJson(text: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function withRetryAfter(error: CaissonError, response: FetchAnswer, text?: string): CaissonError {
  const seconds = retryAfterSeconds(response.headers.get('retry-after'));
  const context = {
    ...error.context,
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
    ...(text === undefined ? {} : { status: response.status, answer: excerpt(text) }),
  };
  return new CaissonError(error.code, error.message, { problems: error.problems, hint: error.hint, context });
}

/** Seconds, or a date; what is neither is as if it were not there. */
export function retryAfterSeconds(header: string | null, now: number = Date.now()): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now) / 1000));
}

async function readText(response: FetchAnswer): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > maxAnswerBytes) {
      await reader.cancel();
      throw new CaissonError('internal', `the answer is larger than ${maxAnswerBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function excerpt(text: string): string {
  return text.length > excerptChars ? `${text.slice(0, excerptChars)}…` : text;
}
