import { CaissonError, type NetworkRules } from '@caisson/contract';
import { PacketReader } from '../../images/sources/pkt-line.ts';
import type { Conversation, Converse } from '../../images/sources/remote.ts';
import { type ExchangeAnswer, type ExchangeRequest, exchange } from '../../network/dial/exchange.ts';
import type { Reach } from '../../network/dial/reach.ts';
import type { Credential } from './credentials.ts';

export interface HttpRemoteOptions {
  readonly reach: Pick<Reach, 'connect'>;
  readonly rules: NetworkRules;
  readonly url: string;
  readonly credential: Credential | undefined;
  readonly idleMs?: number | undefined;
}

const maxRedirections = 5;
const listing = 'info/refs?service=git-upload-pack';

/** A remote over HTTP: it is asked for its names, and what is asked then goes to where that was answered. */
export function httpRemote(options: HttpRemoteOptions): Converse {
  return async (signal) => {
    const opened: ExchangeAnswer[] = [];
    const send = async (request: ExchangeRequest) => {
      const { url, headers } = request;
      const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
      // Each host is told only what is bound to it, also the one that a redirection leads to.
      const own = url.protocol === 'https:' ? (options.credential?.headersFor(url.hostname, port) ?? {}) : {};
      const { reach, rules, idleMs } = options;
      const answer = await exchange(reach, { ...request, headers: { ...headers, ...own } }, { rules, signal, idleMs });
      opened.push(answer);
      return answer;
    };
    const close = async () => {
      for (const answer of opened) answer.close();
    };
    try {
      const { base, answer } = await begin(options, send);
      requireKind(answer, 'application/x-git-upload-pack-advertisement');
      const ask: Conversation['ask'] = async (body) => {
        const said = await send({ method: 'POST', url: new URL(`${base}/git-upload-pack`), headers: asking, body });
        requireGood(said, options.credential);
        requireKind(said, 'application/x-git-upload-pack-result');
        return new PacketReader(said.body);
      };
      return { greeting: new PacketReader(answer.body), ask, close };
    } catch (error) {
      await close();
      throw error;
    }
  };
}

const greeting = { 'git-protocol': 'version=2', accept: '*/*', pragma: 'no-cache' };
const asking = {
  'git-protocol': 'version=2',
  accept: 'application/x-git-upload-pack-result',
  'content-type': 'application/x-git-upload-pack-request',
};

async function begin(
  { url, credential }: HttpRemoteOptions,
  send: (request: ExchangeRequest) => Promise<ExchangeAnswer>,
): Promise<{ base: string; answer: ExchangeAnswer }> {
  let at = new URL(`${url.replace(/\/+$/, '')}/${listing}`);
  for (let count = 0; count <= maxRedirections; count += 1) {
    const answer = await send({ method: 'GET', url: at, headers: greeting });
    if (answer.status < 300 || answer.status > 399) {
      requireGood(answer, credential);
      return { base: at.href.slice(0, at.href.indexOf(`/${listing}`)), answer };
    }
    answer.close();
    at = redirected(at, answer.headers.location);
  }
  throw new CaissonError('source_failed', 'it leads from one place to the next without end');
}

/** Never from TLS to none, and only to where a repository is asked for its names. */
function redirected(from: URL, location: string | undefined): URL {
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  const isSafe = to?.protocol === 'https:' || (to?.protocol === 'http:' && from.protocol === 'http:');
  if (!to || !isSafe || !to.href.endsWith(`/${listing}`) || to.username !== '')
    throw new CaissonError('source_failed', 'it leads to another place that is no repository');
  return to;
}

function requireGood({ status }: ExchangeAnswer, credential: Credential | undefined): void {
  if (status === 200) return;
  if (status === 401 || status === 403) {
    const why = credential
      ? `it refuses the secret \`${credential.name}\` (${status})`
      : `it wants a credential, or there is no such repository (${status})`;
    throw new CaissonError('source_denied', why);
  }
  if (status === 404 || status === 410) throw new CaissonError('source_not_found', `there is none (${status})`);
  if (status === 429 || status >= 500) throw new CaissonError('source_unreachable', `its host answers ${status}`);
  throw new CaissonError('source_failed', `its host answers ${status}`);
}

function requireKind({ headers }: ExchangeAnswer, kind: string): void {
  if (headers['content-type']?.split(';')[0]?.trim() === kind) return;
  throw new CaissonError('source_failed', 'it does not answer as a git repository does', {
    hint: 'Give the address that `git clone` takes.',
  });
}
