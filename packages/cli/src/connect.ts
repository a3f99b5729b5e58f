import { CaissonError } from '@caisson/contract';
import { Caisson, type Fetch } from '@caisson/sdk';
import type { Invocation } from './invocation.ts';
import { localPlace } from './local-server/data-folder.ts';
import { ensureServer } from './local-server/start.ts';
import { withProgress } from './output/progress.ts';
import type { Screen } from './output/screen.ts';
import { unixFetch } from './unix-fetch.ts';

/** Under a second in all: whoever typed the command would rather be told and decide. */
const retries = 2;

/** How a command says which server it means. */
export interface ServerChoice {
  readonly url?: string;
  readonly apiKey?: string;
  readonly data?: string;
}

/** What a command wants of the connection beyond requests. */
export interface ConnectionNeeds {
  /** Attachments over WebSockets; without them each keystroke is a request. */
  readonly webSockets?: boolean;
}

/**
 * The server that a command talks to: the one that is named (`--url`, `CAISSON_URL`), else that of this machine, which
 * is started in the background when it does not run.
 */
export async function connect(
  choice: ServerChoice,
  invocation: Invocation,
  screen: Screen,
  needs: ConnectionNeeds = {},
): Promise<Caisson> {
  const { env } = invocation;
  const webSockets = needs.webSockets === true ? (await import('./web-socket.ts')).webSockets : undefined;
  const apiKey = choice.apiKey ?? (env.CAISSON_API_KEY || undefined);
  // A data folder on the command line is nearer than an address in the environment.
  const url = choice.url ?? (choice.data === undefined ? env.CAISSON_URL || undefined : undefined);
  if (choice.url !== undefined && choice.data !== undefined) {
    throw new CaissonError('request_invalid', '`--url` and `--data` name two servers', { hint: 'Give one of them.' });
  }
  if (url !== undefined) return new Caisson({ baseUrl: url, apiKey, retries, webSocket: webSockets?.() });
  const place = localPlace(choice.data, env);
  const start = async () => {
    const started = await withProgress(screen, 'starting a server', () => ensureServer(place, invocation));
    if (started) screen.note('started a server in the background; `caisson stop-server` ends it');
  };
  await start();
  return new Caisson({
    baseUrl: 'http://localhost',
    apiKey,
    retries,
    fetch: startingFetch(place.socket, start),
    webSocket: webSockets?.(place.socket),
  });
}

/**
 * The server may end between being seen and being asked. A request that found nobody is safe to send again once another
 * server is there; after the first answer a command starts none, or `events -f` would bring back what was stopped.
 */
function startingFetch(socketPath: string, start: () => Promise<void>): Fetch {
  const send = unixFetch(socketPath);
  let answered = false;
  return async (url, init) => {
    try {
      const response = await send(url, init);
      answered ||= response.status !== 503;
      return response;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (answered || (code !== 'ENOENT' && code !== 'ECONNREFUSED')) throw error;
      await start();
      return send(url, init);
    }
  };
}
