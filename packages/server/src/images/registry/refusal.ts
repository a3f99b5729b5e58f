import { CaissonError } from '@caisson/contract';
import * as z from 'zod';
import { readBounded } from '../digest.ts';
import { bodyOf } from './answer-body.ts';

/** The refusal of one request that may end differently when it is made again. */
export class Refused extends Error {
  readonly retryAfterMs: number | undefined;
  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

const maxBytes = 65_536;
const maxWords = 200;
/** Nobody waits longer for an explanation. */
const wordsMs = 10_000;

const errorsSchema = z.object({
  errors: z.array(z.object({ code: z.string().max(100), message: z.string().nullish() })).min(1),
});

export interface RefusedRequest {
  readonly host: string;
  readonly repository: string;
  readonly method: string;
  /** What it was asked with and nobody is to read. */
  readonly hidden?: readonly string[];
}

/** What a registry's refusal means, with its own words where it has any. */
export async function refusalOf(
  response: Response,
  { host, repository, method, hidden = [] }: RefusedRequest,
): Promise<Error> {
  const { status } = response;
  if (status === 429 || status >= 500) {
    await response.body?.cancel();
    return new Refused(`it answers ${status}`, retryAfter(response));
  }
  const words = await wordsOf(response, hidden);
  if (status === 404 && (method === 'GET' || method === 'HEAD' || method === 'DELETE'))
    return new CaissonError('image_not_found', `${host} has no such image in ${repository}`);
  if (status === 405 && method === 'DELETE')
    return new CaissonError('registry_failed', `the registry ${host} does not let images be deleted`, {
      hint: 'Its operator can allow that; or delete it there.',
      context: { status },
    });
  const what = words === undefined ? '' : `: ${words}`;
  return new CaissonError('registry_failed', `the registry ${host} answers ${status} for ${repository}${what}`, {
    context: { status },
  });
}

/** Printable, short, or nothing. A registry may repeat what it was asked with: then its words are not passed on. */
export async function wordsOf(response: Response, hidden: readonly string[] = []): Promise<string | undefined> {
  if (response.body === null) return undefined;
  try {
    const text = (await readBounded(bodyOf(response, AbortSignal.timeout(wordsMs)), maxBytes, 'a refusal')).toString(
      'utf8',
    );
    const { errors } = errorsSchema.parse(JSON.parse(text));
    const said = errors.map(({ code, message }) => [code, message].filter(Boolean).join(' ')).join('; ');
    if (hidden.some((secret) => said.includes(secret))) return undefined;
    return said.replace(/[^\x20-\x7e]/g, '?').slice(0, maxWords);
  } catch {
    return undefined;
  }
}

function retryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? Math.min(seconds, 10) * 1000 : undefined;
}
