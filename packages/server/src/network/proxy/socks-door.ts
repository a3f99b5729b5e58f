import { headMs } from './client.ts';
import { endWith } from './flow.ts';
import { type Refused, socksReply } from './refused.ts';
import {
  methodAccepted,
  noMethodAccepted,
  type ReadRequest,
  readGreeting,
  readSocksRequest,
  socksAnswer,
} from './socks-message.ts';
import { reach, Tunnel } from './tunnel.ts';
import type { Visit } from './visit.ts';

/** The largest greeting and request together, with some of what a hasty client sends after them. */
const gatheredMax = 64 * 1024;

/** Speaks SOCKS5 with one client until it has its tunnel. */
export function serveSocks(visit: Visit): void {
  const { gate, client } = visit;
  const { stream } = client;
  let gathered: Buffer = Buffer.alloc(0);
  let isGreeted = false;
  const deadline = setTimeout(() => stream.destroy(), headMs);
  const leave = () => {
    clearTimeout(deadline);
    stream.off('data', onData);
    stream.off('end', onEnd);
    stream.pause();
  };
  const refuse = (reply: number, refused: Refused) => {
    leave();
    gate.refused('socks', refused);
    endWith(stream, socksAnswer(reply));
  };
  const onEnd = () => stream.destroy();
  const onData = (piece: Buffer) => {
    gathered = Buffer.concat([gathered, piece]);
    if (gathered.length > gatheredMax) return refuse(1, { why: 'request_malformed' });
    if (!isGreeted && !greet()) return;
    const request = readSocksRequest(gathered);
    if (request !== 'more') answer(request);
  };
  const greet = (): boolean => {
    const greeting = readGreeting(gathered);
    if (greeting === 'more') return false;
    if (greeting === 'malformed') {
      leave();
      gate.refused('socks', { why: 'request_malformed' });
      stream.destroy();
      return false;
    }
    isGreeted = greeting.isAccepted;
    gathered = gathered.subarray(greeting.size);
    if (isGreeted) {
      stream.write(methodAccepted);
    } else {
      leave();
      gate.refused('socks', { why: 'protocol_unsupported', sent: 'authentication' });
      endWith(stream, noMethodAccepted);
    }
    return isGreeted;
  };
  const answer = (request: Exclude<ReadRequest, 'more'>) => {
    if (request === 'malformed') return refuse(1, { why: 'request_malformed' });
    if ('reply' in request) {
      const why = request.reply === 4 ? 'name_invalid' : 'protocol_unsupported';
      return refuse(request.reply, { why, sent: request.sent });
    }
    leave();
    const early = gathered.subarray(request.size);
    const done = client.work();
    reach(visit, request.target)
      .then((reached) => {
        if ('why' in reached) return refuse(socksReply(reached.why), reached);
        if (stream.destroyed) return reached.upstream.socket.destroy();
        stream.write(socksAnswer(0));
        new Tunnel(visit, stream, reached, early);
      })
      .catch((error: unknown) => {
        gate.parts.log.warn({ err: error, sandbox: gate.sandbox }, 'a connection out of a sandbox failed');
        stream.destroy();
      })
      .finally(done);
  };
  stream.once('close', () => clearTimeout(deadline));
  stream.on('data', onData);
  stream.on('end', onEnd);
}
