import { CaissonError } from '@caisson/contract';
import { type ExchangeOptions, exchange } from '../../network/dial/exchange.ts';
import type { Reach } from '../../network/dial/reach.ts';

const maxRedirections = 5;
/** More than any archive of sources has; less than what fills a machine. */
const maxBytes = 8 * 1024 ** 3;

/** The bytes at a URL, by the rules of a spec. Never from TLS to none. */
export async function* download(
  reach: Pick<Reach, 'connect'>,
  address: string,
  options: ExchangeOptions,
): AsyncGenerator<Uint8Array> {
  let url = new URL(address);
  for (let count = 0; count <= maxRedirections; count += 1) {
    const answer = await exchange(reach, { method: 'GET', url, headers: { accept: '*/*' } }, options);
    try {
      if (answer.status === 200) {
        yield* bounded(answer.body);
        return;
      }
      url = next(url, answer.status, answer.headers.location);
    } finally {
      answer.close();
    }
  }
  throw new CaissonError('source_failed', 'it leads from one place to the next without end');
}

function next(from: URL, status: number, location: string | undefined): URL {
  if (status === 401 || status === 403) throw new CaissonError('source_denied', `its host answers ${status}`);
  if (status === 404 || status === 410) throw new CaissonError('source_not_found', `there is none (${status})`);
  if (status === 429 || status >= 500) throw new CaissonError('source_unreachable', `its host answers ${status}`);
  if (status < 300 || status > 399) throw new CaissonError('source_failed', `its host answers ${status}`);
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (to?.protocol === 'https:' || (to?.protocol === 'http:' && from.protocol === 'http:')) return to;
  throw new CaissonError('source_failed', 'it leads to a place that is not fetched from');
}

async function* bounded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new CaissonError('source_failed', `it has more than ${maxBytes / 1024 ** 3} GiB`);
    yield chunk;
  }
}
